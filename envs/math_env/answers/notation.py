# SPDX-License-Identifier: Apache-2.0
"""Reading notation: LaTeX, Unicode and plain text become one cleaned text, and that becomes tokens."""

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from .limits import DIGITS, LONGEST_ANSWER, NODES, Limit, Unreadable

_list = str.split  # of words


_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])")
_BRACE = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])\s*(?:\[[^\[\]{}]{0,20}\]\s*)*\{|\\.|[{}]", re.S)
_UNBRACED = re.compile(
    r"[ \t]*([-+]?(?:\d[\d.,]*\d|\d)(?:/\d+)?|\\[dt]?frac\s*(?:\{[^{}]{1,40}\}|\d)\s*(?:\{[^{}]{1,40}\}|\d)"
    r"|\\(?:pi|infty)(?![A-Za-z])|[A-Za-z](?![A-Za-z\d]))"
)


def find_boxes(text: str) -> list[tuple[int, int, str | None]]:
    """(start, end, content) of each outermost box; content None if it never closes. One pass over the text."""
    first = _BOX.search(text)
    if not first:
        return []
    found, stack = [], []  # stack: (start of box or -1, start of content)
    for m in _BRACE.finditer(text, first.start()):
        sign = m[0]
        if sign == "{" or len(sign) > 2:
            stack.append((m.start() if len(sign) > 2 else -1, m.end()))
        elif sign == "}" and stack:
            start, content = stack.pop()
            if start >= 0:
                while found and found[-1][0] > start:
                    found.pop()  # a box in a box
                found.append((start, m.end(), text[content : m.start()]))
    open_box = next((start for start, _ in reversed(stack) if start >= 0), None)
    if open_box is not None and (not found or found[-1][0] < open_box):
        found.append((open_box, len(text), None))
    for m in _BOX.finditer(text, first.start()) if "\\boxed " in text or not found else []:
        bare = _UNBRACED.match(text, m.end())
        if bare and not any(a <= m.start() < b for a, b, _ in found[-50:]):
            found.append((m.start(), bare.end(), bare[1]))
    return sorted(found)


GREEK = _list(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "rho sigma tau upsilon "
    "phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell hbar partial nabla"
)
FUNCTIONS = _list(
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth ln log lg exp sqrt cbrt abs "
    "floor ceil gcd lcm max min Re Im det sgn asin acos atan"
)
_TEXT = _list(
    "text textbf textit textrm textsf texttt textup mathrm mathbf mathit mathsf mathtt mbox hbox operatorname bold "
    "boldsymbol emph bm rm bf underline"
)
_NOISE = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut|strut|,|;|:|>|!|"
    r"thinspace|medspace|enspace|quad|qquad|space|hfill|null|allowbreak|nobreak|bf|rm|it|boldmath|left\.|right\.)(?![A-Za-z])"
)
_DROPPED = re.compile(
    r"\\(?:color|hspace|vspace|phantom|hphantom|label|tag)\*?\s*\{[^{}]{0,60}\}|\\textcolor\s*\{[^{}]{0,60}\}"
)
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-", "－": "-", "×": "\\times ", "⋅": "\\cdot ",
    "·": "\\cdot ", "∙": "\\cdot ", "•": "\\cdot ", "∗": "*", "÷": "\\div ", "∕": "/", "⁄": "/", "≤": "\\le ",
    "≥": "\\ge ", "⩽": "\\le ", "⩾": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "≃": "\\approx ", "≅": "\\approx ",
    "∞": "\\infty ", "√": "\\sqrt ", "∛": "\\sqrt[3]", "∜": "\\sqrt[4]", "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in ",
    "∅": "\\emptyset ", "∖": "\\setminus ", "°": "^\\circ ", "º": "^\\circ ", "±": "\\pm ", "∓": "\\mp ",
    "…": "\\ldots ",
    "⋯": "\\ldots ", "→": "\\to ", "ℝ": "\\mathbb{R}", "ℤ": "\\mathbb{Z}", "ℕ": "\\mathbb{N}", "ℚ": "\\mathbb{Q}",
    "ℂ": "\\mathbb{C}", "⟨": "\\langle ", "⟩": "\\rangle ", "〈": "\\langle ", "〉": "\\rangle ", "∑": "\\sum ",
    "∏": "\\prod ", "∫": "\\int ", "≡": "\\equiv ", "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "⌊": "\\lfloor ",
    "⌋": "\\rfloor ", "⌈": "\\lceil ", "⌉": "\\rceil ", "∣": "|", "。": ".", "、": ",", "，": ",", "∧": "\\land ",
    "∨": "\\lor ", "¬": "\\neg ", "ⅈ": "i", "ⅇ": "e", "µ": "\\mu ", "‰": "/1000 ", "∘": "\\circ ", "⇒": "\\implies ",
}  # fmt: skip
_UP = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣ", "0123456789+-=()nix"))
_DOWN = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₙₖᵢⱼₓ", "0123456789+-nkijx"))
_UP_RUN, _DOWN_RUN = re.compile(f"[{''.join(_UP)}]+"), re.compile(f"[{''.join(_DOWN)}]+")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060-\u2064\ufe0f\ufeff\u00ad]")


def _ascii(text: str) -> str:
    """Unicode mathematics as LaTeX, other digits and letters as plain ones."""
    text = _INVISIBLE.sub("", text)
    text = _UP_RUN.sub(lambda m: "^{" + "".join(map(_UP.get, m[0])) + "}", text)
    text = _DOWN_RUN.sub(lambda m: "_{" + "".join(map(_DOWN.get, m[0])) + "}", text)
    out = []
    for char in text:
        if char < "\x80":
            out.append(char)
            continue
        if char in _SIGNS:
            out.append(_SIGNS[char])
            continue
        plain = unicodedata.normalize("NFKC", char)
        if "⁄" in plain:
            top, bottom = plain.split("⁄")
            out.append(f"\\frac{{{top}}}{{{bottom}}}")
        elif len(plain) == 1 and plain in _SIGNS:
            out.append(_SIGNS[plain])
        elif len(plain) == 1 and (digit := unicodedata.decimal(plain, None)) is not None:
            out.append(str(digit))
        elif (name := unicodedata.name(plain[:1] or " ", "")).startswith("GREEK "):
            letter = name.split()[-1].lower()
            letter = {"lamda": "lambda", "pi": "pi"}.get(letter, letter)
            out.append(f"\\{letter if 'SMALL' in name or 'SYMBOL' in name else letter.capitalize()} ")
        else:
            out.append(plain)
    return "".join(out)


_REPEAT = re.compile(
    r"(?<![\d.])(\d*)\.(\d*)(?:\\(?:overline|bar|dot)\s*(?:\{(\d{1,40})\}|(\d))|(?<=\.)\((\d{1,40})\))"
)
_DOTS = re.compile(r"(?<![\d.])(\d+)\.(\d*?)(\d{1,6})\3{2,}(?:\.\.\.|\\l?dots)\s*$")
_GROUPED = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?![\d,]|\.\d+,)")
_SPACED = re.compile(
    r"(?<![\d.,])(?<!\d )\d{1,3}(?:[ ~]\d{3})+(?!\d|[ ~]\d|/)|(?<![\d.,])\d{1,3}(?:['_]\d{3})+(?![\d'])"
)
_EUROPEAN = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d+)(?![\d,.])|(?<![\d.,])(\d{1,3}(?:\.\d{3}){2,})(?![\d.,])"
)
_UNIT_FRACTION = re.compile(
    r"\\frac\s*\{\s*(\\(?:text|mathrm)\s*\{[A-Za-z ]{1,20}\})\s*\}\s*"
    r"\{\s*(\\(?:text|mathrm)\s*\{[A-Za-z ]{1,20}\}(?:\^\d|\^\{\d\})?)\s*\}$"
)
_CROSS = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*\^)|(?<=\d)\s+[xX]\s+(?=\d)")
_REMARK = re.compile(r"(?:\s+\(|\s*\(\s*\\text\s*\{)\s*([A-Za-z]{4,})[^()]{0,200}\)$")
_DOLLAR = "\x01"


def _repeating(m: re.Match) -> str:
    """0.1\\overline{6} as a fraction in braces."""
    whole, fixed, cycle = m[1] or "0", m[2], m[3] or m[4] or m[5]
    low = 10 ** len(fixed)
    value = Fraction(int(whole + fixed), low) + Fraction(int(cycle), low * (10 ** len(cycle) - 1))
    return f"{{\\frac{{{value.numerator}}}{{{value.denominator}}}}}"


def clean_text(text: str, merge: bool = True) -> str:
    """One notation: LaTeX without layout, plain digits, no thousands separators, no maths delimiters."""
    if len(text) > LONGEST_ANSWER:
        raise Limit(f"an answer of {len(text)} characters; the limit is {LONGEST_ANSWER}")
    if not text.isascii():
        text = _ascii(text)
    text = text.strip().strip("`").strip()
    if "*" in text[:2]:
        text = re.sub(r"^\*{1,3}(?=[^\s*])(.{0,4000}?)\*{1,3}\.?$", r"\1", text, flags=re.S)
    if "&" in text:
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&deg;", "^\\circ ")
    if "\\" in text:
        text = text.replace("\\$", _DOLLAR).replace("\\%", "%").replace("\\#", "#")
        text = re.sub(r"(?<!\\)\\(?=\s|$)", " ", text)
        text = text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("\\cfrac", "\\frac")
        text = re.sub(r"\\[()\[\]]", " ", text) if not re.search(r"\\\\\[", text) else text
        text = text.replace("\\!", "").replace("\\,", " ")
        text = _DROPPED.sub(" ", text)
        text = _BOX.sub(" ", text)
        text = _NOISE.sub(" ", text)
    text = text.replace("~", " ")
    if "$" in text:
        text = re.sub(r"\$(?=\s?\d)", _DOLLAR, text) if text.count("$") % 2 else text.replace("$", " ")
        text = text.replace("$", " ")
    text = re.sub(r"\s+", " ", text.replace("{,}", ",").replace("{-}", "-").replace("{+}", "+")).strip()
    text = re.sub(r"\\text\s*\{\s*[.,;]?\s*\}", " ", text).strip() if "\\text" in text else text
    text = re.sub(r"(?<=\d) ?, ?(?=\d{3}(?!\d))", ",", text) if ",\\!" in text else text
    while text and text[-1] in ".,;:" and not text.endswith("..."):
        text = text[:-1].rstrip()
    if "frac" in text:
        text = _UNIT_FRACTION.sub(r" \1/\2", text)
    text = _CROSS.sub(r"\\times ", text)
    if "." in text:
        text = _REPEAT.sub(_repeating, text)
        text = _DOTS.sub(lambda m: _repeating(re.fullmatch(_REPEAT, f"{m[1]}.{m[2]}\\overline{{{m[3]}}}")), text)
    if "\\text" in text:
        text = re.sub(r"(?<=[\d})])\s*\\text\s*\{\s*\([a-z]{3,}[^(){}]{0,100}\)\s*\}$", "", text)
    if "(" in text and (m := _REMARK.search(text)) and m.start():
        head, word = text[: m.start()].rstrip(), m[1].lower()
        if (
            head[-1:] in "0123456789})"
            and word not in FUNCTIONS
            and word not in REFUSED
            and word not in ("mod", "pmod")
        ):
            text = head
    if "]" in text[:1] or "[" in text[-1:]:
        text = re.sub(r"^[\](\[]([^\[\]]+)\[$", lambda m: ("[" if text[0] == "[" else "(") + m[1] + ")", text)
        text = re.sub(r"^\]([^\[\]]+)\]$", r"(\1]", text)
    if merge:
        if "," in text:
            text = _EUROPEAN.sub(_european, text)
            text = _GROUPED.sub(lambda m: m[0] if _in_brackets(text, m.start()) else m[0].replace(",", ""), text)
        elif text.count(".") > 1:
            text = _EUROPEAN.sub(_european, text)
        if " " in text or "'" in text or "_" in text:
            text = _SPACED.sub(lambda m: re.sub(r"[ ~'_]", "", m[0]), text)
    return text


def _european(m: re.Match) -> str:
    return m[1].replace(".", "") + "." + m[2] if m[1] else m[3].replace(".", "")


def _in_brackets(text: str, at: int) -> bool:
    before = text[:at]
    opened = before.count("(") + before.count("[") + before.count("\\{")
    return opened > before.count(")") + before.count("]") + before.count("\\}")


_TOKEN = re.compile(
    r"(?P<num>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,6}(?![\w.]))?)|\\(?P<cmd>[A-Za-z]+|[{}|\\])|(?P<word>[A-Za-z]+)"
    r"|(?P<op>\*\*|<=|>=|=<|!=|==|:=|\.\.\.|[-+*/^_=<>!|,;:()\[\]{}%&'?\x01€£¥₹])|(?P<space>\s+)"
)


class Token(NamedTuple):
    kind: str  # num, cmd, word (a symbol or function), text (a word), op, end
    value: str
    spaced: bool  # whether white space stands before it


_WORDS = {"and", "or", "to", "percent", "pi", "infinity", "inf", "infty", "mod", "of", "is", "the", "no", "none", "deg"}


def read_tokens(text: str, words: bool = False) -> list[Token]:
    """The signs of a cleaned text; `words` if it stands in a text command, where letters in a row are a word."""
    found: list[Token] = []
    at, spaced = 0, False
    while at < len(text):
        m = _TOKEN.match(text, at)
        if not m:
            raise Unreadable(f"the sign {text[at]!r}")
        kind, value, at = m.lastgroup, m[m.lastgroup], m.end()
        if kind == "space":
            spaced = True
            continue
        if kind == "num" and len(value) > DIGITS:
            raise Limit(f"a number of {len(value)} digits; the limit is {DIGITS}")
        if kind == "cmd" and value in _TEXT:
            content, at = _argument(text, at)
            inner = content.strip()
            letter = re.fullmatch(r"[A-Za-z]", inner) and value not in ("text", "mbox", "textrm", "hbox")
            if letter or inner in FUNCTIONS:
                found.append(Token("word", inner, spaced))
            elif inner:
                for i, token in enumerate(read_tokens(inner, True)):
                    kind = "text" if token.kind == "word" else token.kind
                    if kind == "text" and value.startswith(("math", "b")) and token.value in ("pi", "i", "e", "d"):
                        kind = "word"
                    found.append(Token(kind, token.value, spaced or token.spaced or not i))
            spaced = False
            continue
        if kind == "word" and not words:
            found += split_word(value, spaced, found)
        else:
            found.append(Token(kind, value, spaced))
        spaced = False
        if len(found) > NODES:
            raise Limit(f"more than {NODES} signs")
    return found


def _argument(text: str, at: int) -> tuple[str, int]:
    """The content of the braces at this place, and where they end."""
    while at < len(text) and text[at] == " ":
        at += 1
    if at >= len(text) or text[at] != "{":
        return text[at : at + 1], at + 1
    depth = 0
    for m in re.compile(r"\\.|[{}]").finditer(text, at):
        if m[0] == "{":
            depth += 1
        elif m[0] == "}":
            depth -= 1
            if not depth:
                return text[at + 1 : m.start()], m.end()
    raise Unreadable("a brace that is not closed")


def split_word(word: str, spaced: bool, before: list[Token]) -> list[Token]:
    """Letters in a row: a function, a word, or variables multiplied."""
    if len(word) == 1 or word in FUNCTIONS or word in _WORDS:
        if word in UNITS and spaced and before and before[-1].kind == "num" and word not in "xyabcnki":
            return [Token("text", word, spaced)]
        return [Token("word", word, spaced)]
    low = word.lower()
    if low in ("and", "or", "percent", "pi") or (low in FUNCTIONS and low == word):
        return [Token("word", low, spaced)]
    if low in UNITS or low in ("sq", "cu", "per", "cent") or low in FILLERS or low in TRUTH:
        return [Token("text", word, spaced)]
    for name in FUNCTIONS:
        if len(name) > 2 and word.endswith(name) and len(word) - len(name) <= 2:
            return [*(Token("word", c, spaced) for c in word[: -len(name)]), Token("word", name, False)]
    if word.endswith("pi") and len(word) <= 3:
        return [*(Token("word", c, spaced) for c in word[:-2]), Token("word", "pi", False)]
    if len(word) == 2 or (len(word) <= 4 and not set(low) & set("aeiou")) or low in ("abc", "bac", "abcd", "xyz"):
        return [Token("word", c, spaced and not i) for i, c in enumerate(word)]
    return [Token("text", word, spaced)]


RELATIONS = {
    "=": "=", "==": "=", ":=": "=", "<": "<", ">": ">", "<=": "<=", "=<": "<=", ">=": ">=", "!=": "!=", "le": "<=",
    "leq": "<=", "leqslant": "<=", "leqq": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=", "geqq": ">=", "lt": "<",
    "gt": ">", "ne": "!=", "neq": "!=", "in": "in", "equiv": "mod", "approx": "approx", "cong": "approx",
    "simeq": "approx", "sim": "approx",
    "notin": "notin", "implies": "implies", "Rightarrow": "implies",
}  # fmt: skip
TIMES = {"cdot": "*", "times": "*", "ast": "*", "div": "/", "cdotp": "*", "bullet": "*"}
FILLERS = set(
    _list(
        "about approximately around roughly exactly the answer is are was an there it its total of only just all "
        "equals he she they we has have had will needs final result value so therefore thus"
    )
)
REFUSED = set(
    _list(
        "not no never or and less more than least most to plus minus times squared cubed half halves thirds "
        "factorial over between from except unless either neither nor without until below above under maybe perhaps "
        "tenths hundredths thousandths quarters fifths sixths eighths fewer "
        "possibly divided multiplied negative root difference sum product log square-root infinite undefined unknown"
    )
)
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
TRUTH = {"true", "false", "yes", "no"}


def _unit_table() -> dict[str, str]:
    """Spelling -> name of the unit."""
    prefixed = {
        "m": ("meter", "metre"), "g": ("gram", "gramme"), "l": ("liter", "litre"), "s": ("second",), "w": ("watt",),
        "j": ("joule",), "pa": ("pascal",), "hz": ("hertz",), "v": ("volt",), "b": ("byte",), "n": ("newton",),
    }  # fmt: skip
    prefixes = {"": "", "k": "kilo", "c": "centi", "m": "milli", "d": "deci"}
    table = {}
    for short, names in prefixed.items():
        for p, long in prefixes.items():
            unit = p + short
            for spelling in (unit, *(long + name + s for name in names for s in ("", "s"))):
                table.setdefault(spelling, unit)
    more = (
        "in inch inches;ft foot feet;yd yard yards;mi mile miles;oz ounce ounces;lb lbs pound "
        "pounds;ton tons tonne tonnes;"
        "h hr hrs hour hours;min mins minute minutes;s sec secs second seconds;day days;week weeks wk;month months;"
        "year years yr yrs;$ dollar dollars usd bucks;cent cents ¢;€ euro euros eur;£ gbp;¥ yen jpy "
        "yuan;₹ rupee rupees;"
        "deg degree degrees;rad radian radians;% percent percentage pct;mph;kph kmh kmph;gallon gallons gal;"
        "quart quarts qt;pint pints pt;cup cups;acre acres;ha hectare hectares;unit units;cal calorie calories;"
        "kcal;amp amps;mol mole moles;celsius;fahrenheit;kelvin;ms millisecond milliseconds"
    )
    for line in more.split(";"):
        for spelling in line.split():
            table[spelling] = line.split()[0]
    return table


UNITS = _unit_table()
CURRENCIES = {"USD": "$", "US": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "RS": "₹", "INR": "₹"}
LOOSE_UNITS = {"unit", "square unit", "cubic unit", "units^2", "unit^2", "unit^3"}


def unit_name(words: str) -> str:
    """A normal form for a unit: 'square centimeters' and 'cm^2' are one."""
    words = words.lower().replace("**", "^").replace("{", "").replace("}", "").replace("*", " ")
    words = re.sub(r"\bper\b", "/", words.replace("per cent", "%"))
    words = re.sub(r"\bsq\b|\bsquared?\b", "square", words)
    words = re.sub(r"\bcubed\b|\bcu\b", "cubic", words)
    words = re.sub(r"\ban? (?=hour|minute|second|day|week|month|year)", "/ ", words)
    out = []
    for side in words.split("/"):
        power, names = "", []
        for word in re.findall(r"[^\W\d_]+|[$€£¥₹%¢]|\^\s*-?\d+", side):
            if word in ("square", "cubic"):
                power = "^2" if word == "square" else "^3"
            elif word[0] == "^":
                power = word.replace(" ", "")
            elif word not in ("the", "of", "a", "an", "each"):
                singular = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
                names.append(UNITS.get(word, UNITS.get(singular, singular)))
        out.append(" ".join(names) + power)
    name = "/".join(out)
    return {"mi/h": "mph", "km/h": "kph", "deg celsius": "celsius", "deg c": "celsius", "deg f": "fahrenheit"}.get(
        name, name
    )
