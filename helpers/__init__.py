# SPDX-License-Identifier: Apache-2.0
"""What notebooks and batch runs share. Nothing here names a concrete environment."""
