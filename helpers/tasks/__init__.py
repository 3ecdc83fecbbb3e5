# SPDX-License-Identifier: Apache-2.0
"""Where do tasks come from, and which of them are worth training on?"""
