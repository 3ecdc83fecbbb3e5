# SPDX-License-Identifier: Apache-2.0
"""What answers mean: text to trees, trees to values, and whether two of them are the same."""
