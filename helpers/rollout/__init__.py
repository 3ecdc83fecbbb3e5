# SPDX-License-Identifier: Apache-2.0
"""How does a policy play the tasks of an environment?"""
