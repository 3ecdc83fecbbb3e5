"""HTML pages that need no other file: tables, pictures inside, and what a model wrote escaped."""

import base64
import html
from pathlib import Path

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: WIDTH; margin: 2rem auto; padding: 0 1rem }
body { color: #1a1a1a; background: #fff }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
figure { margin: 1rem 0 } img { max-width: 100% } figcaption { color: #555; font-size: .9rem }
table { border-collapse: collapse; font-size: .9rem; display: block; overflow-x: auto }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd; vertical-align: top }
pre { margin: 0; white-space: pre-wrap; font-size: .8rem; max-width: 30rem }
.big { font-size: 1.3rem } .small { color: #555; font-size: .85rem }
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
