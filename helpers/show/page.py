# SPDX-License-Identifier: Apache-2.0
"""HTML pages that need no other file: tables, pictures inside, and what a model wrote escaped."""

import base64
import html
import re
from pathlib import Path

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: WIDTH; margin: 2rem auto; padding: 0 1rem }
body { color: light-dark(#1a1a1a, #e4e4e4); background: light-dark(#fff, #181818) }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
figure { margin: 1rem 0 } img { max-width: 100%; background: #fff; border-radius: 4px }
figcaption, .small { color: light-dark(#555, #aaa) } figcaption { font-size: .9rem }
table { border-collapse: collapse; font-size: .9rem; display: block; overflow-x: auto }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; vertical-align: top }
th, td { border-bottom: 1px solid light-dark(#ddd, #444) }
pre { margin: 0; white-space: pre-wrap; font-size: .8rem; max-width: 30rem }
.big { font-size: 1.3rem } .small { font-size: .85rem }
"""


class Markup(str):
    """Text that is HTML already: a cell or caption that is not escaped again."""


def page(title: str, body: str, width: str = "52rem") -> str:
    """A whole page. `body` is HTML."""
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(title)}</title>
<style>{_STYLE.replace("WIDTH", width)}</style>
{body}
</html>
"""


def table(rows: list[list], kind: str = "") -> str:
    """A table whose first row is its head; cells are escaped unless they are `Markup`.

    Args:
        rows: Cells, row by row.
        kind: Class of the table.
    """
    head, *body = [[cell if isinstance(cell, Markup) else html.escape(str(cell)) for cell in row] for row in rows]
    lines = ["<thead><tr><th>" + "<th>".join(head) + "</thead><tbody>"]
    lines += ["<tr><td>" + "<td>".join(row) for row in body]
    return f"<table{f' class={kind}' if kind else ''}>" + "\n".join(lines) + "</tbody></table>"


def picture(path: Path, caption: str) -> str:
    """A PNG file as a figure inside the page."""
    data, text = base64.b64encode(path.read_bytes()).decode(), html.escape(caption)
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'


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
