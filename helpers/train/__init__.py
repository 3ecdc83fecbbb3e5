# SPDX-License-Identifier: Apache-2.0
"""Which settings does a training take, and how do I follow, guard and save it?"""
