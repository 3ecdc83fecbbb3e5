# SPDX-License-Identifier: Apache-2.0
"""How is an environment reached over HTTP?"""
