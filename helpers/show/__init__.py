# SPDX-License-Identifier: Apache-2.0
"""How do I look at what happened: plots, pages, and widgets to browse, play and review?"""
