# SPDX-License-Identifier: Apache-2.0
"""The kinds of requests, each a short program with its wordings; importing this folder registers them all."""

from . import analytics, customers, emails, meetings, multi, projects, starter  # noqa: F401  (they register themselves)
from .desk import CATEGORIES, DIFFICULTIES, TEMPLATES, Desk, Skip, Template

__all__ = ("CATEGORIES", "DIFFICULTIES", "TEMPLATES", "Desk", "Skip", "Template")
