# SPDX-License-Identifier: Apache-2.0
"""Finds the code in a completion."""

import re
from functools import lru_cache
from typing import NamedTuple

from .completions import without_reasoning

_LONGEST = 400_000  # characters of a completion that are read, from the end
_MOST_VERSIONS = 4  # more different versions of what is asked are a spray, not an answer
_PYTHON = ("", "python", "py", "python3", "py3", "python2", "ipython", "ipython3", "pycon", "code", "sage", "cython")
_STRING = re.compile(r"#[^\n]*|\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_TARGET = r"[\w.\[\]'\"()*]+"  # of an assignment
_OPENERS = re.compile(  # how a line at the margin begins that can be code; prose such as "for example: x" cannot
    rf"(?:async[ \t]+)?(?:def|class)[ \t]+\w+|import[ \t]+[\w.]+[ \t]*(?:$|,|as\b|;|#)|from[ \t]+[\w.]+[ \t]+import\b"
    rf"|@[\w.]+|(?:async[ \t]+)?for\b[^\n]*\bin\b[^\n]*:|(?:if|elif|while|with|match)\b[^\n]*:[ \t]*(?:#[^\n]*)?$"
    rf"|(?:if|while|with)\b[^\n]*[)\]\w]:[ \t]+\w+[ \t]*[(=]|(?:try|else|finally|except\b[^\n]*):"
    rf"|(?:raise|assert|del|global|pass)\b|[rRuUbB]?(?:\"\"\"|''')|#|[)\]}}]"
    rf"|{_TARGET}(?:[ \t]*,[ \t]*{_TARGET})*[ \t]*(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)"
    rf"|\w+[ \t]*:[ \t]*[\w.\[\], |]+=(?!=)"
    rf"|\w[\w.]*(?:\[[^\]\n]*\][\w.]*)*\((?:[^\n]*[)\]}},(:\\;])?[ \t]*(?:#[^\n]*)?$"
)


def extract(text: str, entry_point: str = "") -> tuple[str | None, str]:
    """The code in a completion as a user would take it, or None and the reason.

    Args:
        text: What the model said. Reasoning is left out; reasoning that never ends leaves nothing.
        entry_point: What the code has to define, "name" or "Class.method"; empty for a program.
    """
    if not text.strip():
        return None, "no answer: the completion is empty"
    text = without_reasoning(text)[-_LONGEST:].replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if not text.strip():
        return None, "no answer: nothing follows the reasoning"
    owner, _, name = entry_point.rpartition(".")
    wanted = _definition(owner or name) if entry_point else _PRINTS
    fenced = blocks_in(text)
    blocks = fenced or _bare_blocks(text)
    defining = [block for block in blocks if wanted.search(block)]
    if not entry_point:  # the whole program rather than a sketch
        defining = [block for block in defining if _READS.search(block)] or defining
    elif not defining and not owner:  # a method of some class
        defining = [block for block in blocks if _method(name).search(block)]
    if not defining:
        if not fenced:
            return None, f"no answer: no code found that {'defines ' + entry_point if entry_point else 'prints'}"
        return fenced[-1], ""
    versions = len(dict.fromkeys(block.strip() for block in defining))
    if entry_point:
        versions = max(versions, len(dict.fromkeys(_bodies(defining, wanted))))
    if versions > _MOST_VERSIONS:
        return None, f"several answers: {versions} different versions offered; give one"
    chosen = defining[-1]
    return _with_helpers(chosen, blocks[: len(blocks) - 1 - blocks[::-1].index(chosen)], wanted), ""


@lru_cache(maxsize=256)
def _definition(name: str) -> re.Pattern:
    """A definition of a name at the outer level, or inside an `if` or `try`."""
    name = re.escape(name)
    return re.compile(
        rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b|^{name}[ \t]*(?::[^=\n]+)?=(?!=)"
        rf"|^(?:from[ \t]+\S+[ \t]+)?import\b[^\n]*\b{name}\b|^[ \t]+{name}[ \t]*=[ \t]*lambda\b",
        re.M,
    )


@lru_cache(maxsize=256)
def _method(name: str) -> re.Pattern:
    return re.compile(rf"^[ \t]+(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.M)


_PRINTS = re.compile(r"\bprint\b|\bstdout\b|\bos\.write\b")
_READS = re.compile(r"\binput\b|\bstdin\b|\bos\.read\b|\bfileinput\b|\bopen\(")


def _bodies(blocks: list[str], wanted: re.Pattern) -> list[str]:
    """Each definition of what is wanted, up to the next one."""
    found = []
    for block in blocks:
        starts = [m.start() for m in wanted.finditer(block)]
        found += [block[a:b].strip() for a, b in zip(starts, [*starts[1:], len(block)])]
    return found


def _with_helpers(chosen: str, earlier: list[str], wanted: re.Pattern) -> str:
    """The code with those earlier blocks in front that define functions, classes or imports which it uses and lacks."""
    used = set(re.findall(r"[A-Za-z_]\w*", chosen)) - _defined(chosen)
    parts = [chosen]
    for block in reversed(earlier):
        if not wanted.search(block) and (names := _defined(block) & used):
            parts.insert(0, block)
            used = (used - names) | (set(re.findall(r"[A-Za-z_]\w*", block)) - _defined(block))
    return "\n\n".join(parts)


_DEFINES = re.compile(
    r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^([A-Z][A-Z0-9_]*)[ \t]*=(?!=)"
    r"|^(?:from[ \t]+\S+[ \t]+)?import[ \t]+([^\n#]+)",
    re.M,
)


def _defined(code: str) -> set[str]:
    names = set()
    for m in _DEFINES.finditer(code):
        if m[3]:
            names |= {part.split(" as ")[-1].strip(" ()").split(".")[0] for part in m[3].split(",")}
        else:
            names.add(m[1] or m[2])
    return names


class _Mark(NamedTuple):
    """A line that opens or closes a fence."""

    indent: str
    fence: str
    info: str


def _mark(line: str) -> _Mark | None:
    bare = line.strip(" \t")
    if not bare.startswith(("```", "~~~")):
        return None
    rest = bare.lstrip(bare[0])
    return _Mark(line[: len(line) - len(line.lstrip(" \t"))], bare[: len(bare) - len(rest)], rest.strip())


def blocks_in(text: str) -> list[str]:
    """The fenced blocks of Python, or of no named language, in order; the last one may lack its end."""
    found: list[str] = []
    lines: list[str] = []
    open_: _Mark | None = None
    quote = ""

    def close() -> None:
        if _tag(open_.info) in _PYTHON and any(line.strip() for line in lines):
            found.append(_undone("\n".join(lines)))
        lines.clear()

    for line in text.split("\n"):
        mark = _mark(line)
        if not open_:
            quote = ""
            if mark and mark.fence[0] == "`" and mark.info.endswith(mark.fence):  # all on one line
                code = mark.info[: -len(mark.fence)].strip()
                found.append(re.sub(r"^(?:python3?|py)[ \t]+", "", code, flags=re.I))
            elif mark and not (mark.fence[0] == "`" and "`" in mark.info):
                open_ = mark
            elif not mark and (tail := re.search(r"(`{3,})[ \t]*(\w*)$", line.rstrip()[-60:])):  # after words
                open_ = _Mark("", tail[1], tail[2])
            continue
        inside = line.removeprefix(open_.indent)
        if mark and not quote and mark.fence.startswith(open_.fence) and len(mark.indent) <= len(open_.indent) + 3:
            close()
            open_ = mark if mark.info else None  # with a language it opens another block, the end being forgotten
        elif not quote and not mark and inside.rstrip().endswith(open_.fence):  # behind the last line
            lines.append(inside.rstrip()[: -len(open_.fence)])
            close()
            open_ = None
        else:
            lines.append(inside)
            quote = _quote_after(line, quote)
    if open_ and quote and (ends := [i for i, line in enumerate(lines) if _mark(line)]):
        del lines[ends[0] :]  # a string that never ends hid the end of the block
    if open_:
        close()
    return found


def _tag(info: str) -> str:
    words = re.findall(r"[\w+#-]+", info.lower())
    return words[0] if words else ""


def _quote_after(line: str, quote: str) -> str:
    """The triple quote that is open after a line, given the one that was open before it."""
    at = 0
    while True:
        if quote:
            end = line.find(quote, at)
            while end > 0 and line[end - 1] == "\\":
                end = line.find(quote, end + 1)
            if end < 0:
                return quote
            at, quote = end + 3, ""
        m = _STRING.search(line, at)
        if not m:
            return ""
        at = m.end()
        if m[0] in ('"""', "'''"):
            quote = m[0]


def _undone(code: str) -> str:
    """A block as source: prompts of an interactive session removed, common indentation too."""
    lines = code.split("\n")
    if any(line.startswith(">>> ") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    full = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in full), default=0)
    if margin and len({line[:margin] for line in full}) == 1:
        lines = [line[margin:] for line in lines]
    return "\n".join(lines).replace("\u00a0", " ")


def _bare_blocks(text: str) -> list[str]:
    """Stretches of code in a text without fences: from a line that can only be code to the next line of prose."""
    inline = [m[1] for m in re.finditer(r"(?<!`)`((?:def|class|lambda|import|from)\b[^`\n]+)`(?!`)", text)]
    found: list[str] = []
    lines: list[str] = []
    quote, depth = "", 0
    for line in text.split("\n"):
        inside = bool(quote) or depth > 0
        blank, indented = not line.strip(), line[:1] in (" ", "\t")
        opens = not blank and not indented and _opens(line)
        if not (opens if not lines else opens or inside or blank or indented):
            found.append("\n".join(lines))
            lines, quote, depth = [], "", 0
            continue
        lines.append(line)
        depth = _depth_after(line, depth) if not quote else depth
        quote = _quote_after(line, quote)
    found.append("\n".join(lines))
    found = [block.strip("\n") for block in found if block.strip()]
    return found or inline


def _opens(line: str) -> bool:
    """Whether a line at the margin can be code; of a very long one its two ends are looked at."""
    return bool(_OPENERS.match(line if len(line) < 1000 else f"{line[:500]}{line[-100:]}"))


def _depth_after(line: str, depth: int) -> int:
    bare = _STRING.sub(" ", line)
    return max(0, depth + len(re.findall(r"[(\[{]", bare)) - len(re.findall(r"[)\]}]", bare)))
