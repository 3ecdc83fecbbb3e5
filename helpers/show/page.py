# SPDX-License-Identifier: Apache-2.0
"""HTML is made here: by the files in templates/, in which every value is escaped, cut where it is very long, and shown
with its control characters. What is HTML already is `Markup`."""

import base64
import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

LONGEST = 20_000  # characters of one text that are shown

# Control characters, and marks that turn text around or have no width: with them a text can look like another.
_HIDDEN = (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF,
           *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # fmt: skip
_SIGNS = {i: f"[U+{i:04X}]" for i in _HIDDEN}


def safe(value, most: int = LONGEST) -> Markup:
    """Any value as escaped text, at most so many characters of it, with control characters made visible."""
    if isinstance(value, Markup):
        return value
    text = value if isinstance(value, str) else "" if value is None else str(value)
    more = f" ... {len(text) - most:,} more characters" if len(text) > most else ""
    text = text[:most].encode("utf-8", "backslashreplace").decode("utf-8")  # half characters would break the message
    return Markup(html.escape(text.translate(_SIGNS) + more))


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, finalize=safe,
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
_TEMPLATES.filters["cut"] = safe
del _TEMPLATES.filters["safe"]  # Jinja's own, which would let a value through as it is


def render(template: str, **values) -> str:
    """A whole template, filled in."""
    return _TEMPLATES.get_template(template).render(values)


def macros(template: str) -> Any:
    """The macros of a template as functions that return `Markup`."""
    return _TEMPLATES.get_template(template).module


tags = macros("tags.html")


def rows(records: Iterable[dict], columns: dict[str, str]) -> list[list]:
    """Rows of a table: its head, and a row for each record.

    Args:
        records: What is in the rows.
        columns: heading: format of the record's fields, such as "{gain:+.3f}".
    """
    return [list(columns), *([form.format_map(record) for form in columns.values()] for record in records)]


def encoded(picture: bytes) -> Markup:
    """A picture as an address holds it: base64 needs no escaping, and must not be cut."""
    return Markup(base64.b64encode(picture).decode())


def figure(path: Path, caption: str) -> Markup:
    """A PNG file inside the page, with a caption."""
    return tags.figure(encoded(path.read_bytes()), caption)


# --- markup of others ------------------------------------------------------------------------------------

_TAGS = frozenset((
    "a", "b", "blockquote", "br", "caption", "code", "dd", "details", "div", "dl", "dt", "em", "figcaption", "figure",
    "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li", "ol", "p", "pre", "s", "span", "strong", "sub",
    "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
_ATTRIBUTES = frozenset(("alt", "aria-label", "class", "colspan", "role", "rowspan", "scope", "title"))
_STYLES = re.compile(r"<style\b.*?</style\s*>", re.S | re.I)


def clean(markup: str) -> str:
    """HTML or markdown that others wrote: text, tables, links, and pictures that lie inside it. Scripts, frames and
    forms become text; styles go, and so do pictures from elsewhere."""
    import bleach

    def allowed(tag: str, name: str, value: str) -> bool:
        if (tag, name) == ("img", "src"):
            return value.startswith(("data:image/png;base64,", "data:image/jpeg;base64,"))
        if (tag, name) == ("a", "href"):
            return value.startswith(("https://", "http://", "#"))
        return name in _ATTRIBUTES

    protocols = ("http", "https", "data")
    return bleach.clean(_STYLES.sub("", markup), tags=_TAGS, attributes=allowed, protocols=protocols)
