# SPDX-License-Identifier: Apache-2.0
"""How do notebooks run without a person, and where do their results go?"""
