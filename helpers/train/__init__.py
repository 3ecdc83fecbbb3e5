# SPDX-License-Identifier: Apache-2.0
"""Which settings does a training take, and how does it go?"""
