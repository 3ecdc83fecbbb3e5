"""What several tests of math share."""

import json
import re

from hypothesis import HealthCheck, settings

from envs.math_env import (
    score,
)
from helpers.here import ROOT

COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}
many, some = settings(max_examples=10_000, **COMMON), settings(max_examples=300, **COMMON)
DATA = ROOT / "tests" / "data"


def row_of(gold: str, **fields) -> dict:
    return {"task": json.dumps({"answer": gold, **fields})}


def reward_of(completion, gold: str, **fields) -> float | None:
    return score(completion, row_of(gold, **fields)).reward


def _lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


SAME = r"""
42 | 42.0 | +42 | \frac{84}{2} | 042 | forty-two | 4.2e1 | 42 \text{ cm} | x = 42 | \text{42} | $42$ | 42.
1234567 | 1,234,567 | 1{,}234{,}567 | 1 234 567 | 1.234.567 | 1'234'567 | 12,34,567 | 1\,234\,567 | 1\!,\!234\!,\!567
-7 | −7 | –7 | {-}7 | (-7) | -7.00 | - 7
-\frac{3}{4} | \frac{-3}{4} | \frac{3}{-4} | -0.75 | -\dfrac{6}{8} | -3/4
2.5 | 5/2 | 2\frac{1}{2} | 2½ | 2 1/2 | 2,5 | 2.50 | \frac52 | 250\%
1234.56 | 1,234.56 | 1.234,56 | 1 234.56 | \$1,234.56
\frac{1}{3} | 0.\overline{3} | 0.333... | 0.(3) | {1 \over 3} | ⅓ | 33.\overline{3}\% | 3^{-1}
50\% | 0.5 | 50 | \frac12 | 50 percent | 50\text{ per cent}
5 \text{ cm} | 5 | 5cm | 5 centimeters | 5\,\mathrm{cm}
12 \text{ cm}^2 | 12 cm² | 12 square centimeters | 12 \text{ sq cm}
\$3.50 | 3.5 | 3.50 dollars | USD 3.50
3.2e5 | 3.2 \times 10^5 | 320,000 | 32·10⁴ | 3.2 x 10^5
2\sqrt{3} | \sqrt{12} | 2√3 | 12^{1/2} | \frac{6}{\sqrt3} | 2*sqrt(3)
\frac{\sqrt2}{2} | \frac{1}{\sqrt{2}} | 2^{-1/2} | \sin 45^\circ | \cos\frac{\pi}{4}
\sqrt{3+2\sqrt{2}} | 1+\sqrt{2}
\ln 2 | -\ln\frac12 | \frac{\ln 4}{2} | \log_e 2
x^2+2x+1 | (x+1)^2 | x(x+2)+1 | x**2 + 2*x + 1
\sin^2 x | 1-\cos^2 x | (\sin x)^2 | \frac{1-\cos 2x}{2}
\frac{n(n+1)}{2} | \binom{n+1}{2} | \sum_{k=1}^{n} k
2^{n+1}-2 | 2(2^n-1)
(x+y)^{60} | (y+x)^{59}(x+y)
y=2x+1 | 2x+1=y | 2x-y+1=0 | y-2x=1
(2,5] | 2<x\le5 | x\in(2,5] | ]2,5] | x>2 \text{ and } x\le 5
(-\infty,0)\cup(3,\infty) | x<0 \text{ or } x>3 | (3,\infty)\cup(-\infty,0)
\mathbb{R}\setminus\{0\} | x\ne0 | (-\infty,0)\cup(0,\infty)
-1<x<1 | |x|<1 | (-1,1) | x^2<1
(-\infty,-2]\cup[2,\infty) | x^2\ge4 | |x|\ge2 | x\le-2 \text{ or } x\ge2
x\ge3 | [3,\infty) | 3\le x | 2x\ge6
\{1,2,3\} | 3, 2, 1 | {1,2,3} | 1, 2 \text{ and } 3 | \{1,1,2,3\}
(1,2) | (1.0,\frac42) | x=1, y=2 | (x,y)=(1,2)
x=1 \text{ or } x=2 | 2, 1 | x\in\{1,2\} | x_1=1, x_2=2
\pm6 | 6, -6 | \{-6,6\} | \mp 6
\begin{pmatrix}1&2\\3&4\end{pmatrix} | \begin{bmatrix}1&2\\3&\frac82\end{bmatrix} | [[1,2],[3,4]]
\text{(B)} | B | \boxed{B} | Option B | B. 12 cm | \textbf{(B)}
True | \text{true} | TRUE
Tuesday | on tuesday | \text{Tuesday}.
30^\circ | 30 | 30 degrees | \frac{\pi}{6}
7:30 \text{ PM} | 19:30 | 7:30 p.m. | 7:30
3:4 | 6:8 | \frac34
March 5, 2024 | 5 March 2024 | 2024-03-05 | March 5
4210_5 | 4210_{5} | 4210
3+4i | 4i+3 | \frac{25}{3-4i}
2 \pmod 5 | 7 \pmod{5} | x \equiv 2 \pmod 5 | 2
\text{no solution} | \emptyset | No real solutions
3 \text{ million} | 3000000
2^{1000000} | 4^{500000}
"""


OTHER = r"""
42 | 24 | -42 | 4 2 | O | 42x | 42! | x>42 | x \ne 42 | 41 or 42 | (42, 1) | at least 42 | 42 \pm 1
1234567 | 1.234567 | 1,234,576
12,500 | 12 | 12.5 | 12.500
\frac{1}{3} | 0.3 | 0.3333 | 3 | 33\%
50\% | 5\% | 0.5\% | 0.05 | 500\%
5 \text{ cm} | 5 m | 50 cm | 5 \text{ cm}^2 | 5 inches
\$3.50 | 350 | €3.50 | 3.50 euros
2\sqrt{3} | 3\sqrt2 | \sqrt6 | 3.4641016151377544
e^2 | 2e | 7.389
\ln 2 | \log_{10} 2 | \ln 3
\sin^2 x | \sin x^2 | \cos^2 x
|x| | x | -x
y=2x+1 | x=2y+1 | y=2x-1
-1<x<1 | |x|\le1 | x^2<2 | x^2>1 | |x|<1.000001
(2,5] | [2,5] | (5,2] | [2,5) | (2,5)
\{1,2,3\} | \{1,2\} | \{1,2,3,4\}
3, 5, 7 | 3, 5, 7, 9 | 357 | 3 5 7
(1,2) | (2,1) | 1.2 | 12 | \{1,2\} | [1,2]
(1,234) | 1234
\pm6 | 6 | -6
x=5 | y=5 | x=-5
B | A | A/B | B and C | A, B, C, D | D. B | BC
True | False | True or False
even | uneven | odd | not even
7:30 | 1:30 | 7.30
7:30 \text{ PM} | 7:30 AM
4210_5 | 4210_6 | 555
5 | \text{NaN} | None | ? | answer | \frac{}{} | 4\sqrt(2) | 5=6 | [4,6] | 5\text{ or more}
100000000000000000001 | 100000000000000000000
2^{1000000} | 2^{1000001}
(x+y)^{60} | (x+y)^{59}(x+y+1)
\begin{pmatrix}1&2\\3&4\end{pmatrix} | \begin{pmatrix}1&3\\2&4\end{pmatrix}
"""


def _pairs(table: str) -> list[tuple[str, str]]:
    lines = [re.split(r" \| ", line) for line in table.strip().splitlines()]
    return [(line[0], other) for line in lines for other in line[1:]]
