# SPDX-License-Identifier: Apache-2.0
"""Can this environment be trusted, and how good is a policy in it?"""
