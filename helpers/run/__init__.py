# SPDX-License-Identifier: Apache-2.0
"""How do I run notebooks, one or many, and what does a run leave behind?"""
