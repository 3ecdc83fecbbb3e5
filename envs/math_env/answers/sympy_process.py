# SPDX-License-Identifier: Apache-2.0
"""SymPy, for what is left: integrals, limits and open sums, in a process of its own that can be ended."""

import atexit
import json
import os
import queue
import subprocess
import sys
import threading
import time


class _OpenQuestion(threading.local):
    """Of the pair that this thread judges: why it stays undecided, and the seconds left to ask SymPy."""

    why, left = "", 1.0


open_question = _OpenQuestion()

SECONDS = 1.2  # for all questions about one pair
_START_SECONDS = 30.0  # to import SymPy, the first time
_WORKER = r"""
import json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
except Exception:
    pass
try:
    import sympy as s
except ImportError:
    print("missing", flush=True)
    sys.exit()
F = {"ln": s.log, "log": s.log, "arcsin": s.asin, "arccos": s.acos, "arctan": s.atan, "arccot": s.acot,
     "arcsec": s.asec, "arccsc": s.acsc, "abs": s.Abs, "ceil": s.ceiling, "binom": s.binomial, "max": s.Max,
     "min": s.Min, "mod": s.Mod, "Re": s.re, "Im": s.im, "sgn": s.sign, "logb": s.log}
for name in "sin cos tan cot sec csc sinh cosh tanh coth exp factorial floor gcd lcm".split():
    F[name] = getattr(s, name)
def build(t):
    k = t[0]
    if k == "num": return s.Rational(int(t[1]), int(t[2]))
    if k == "sym": return s.Symbol(t[1], real=True)
    if k == "const": return {"pi": s.pi, "e": s.E, "i": s.I}[t[1]]
    if k == "inf": return s.oo
    if k == "neg": return -build(t[1])
    if k == "add": return s.Add(*map(build, t[1]))
    if k == "mul": return s.Mul(*map(build, t[1]))
    if k == "div": return build(t[1]) / build(t[2])
    if k == "pct": return build(t[1]) / 100
    if k == "deg": return build(t[1]) * s.pi / 180
    if k == "pow": return build(t[1]) ** build(t[2])
    if k == "base": return s.Integer(int(t[1], t[2]))
    if k == "sum":
        v = s.Symbol(t[2], real=True)
        kind = s.Sum if t[1] == "sum" else s.Product
        return kind(build(t[5]), (v, build(t[3]), build(t[4])))
    if k == "open":
        v = s.Symbol(t[2], real=True)
        if t[1] == "lim": return s.Limit(build(t[5]), v, build(t[3]))
        if t[3] is None or t[4] is None: return s.Integral(build(t[5]), v)
        return s.Integral(build(t[5]), (v, build(t[3]), build(t[4])))
    if k == "fn":
        a = [build(x) for x in t[2]]
        if t[1] == "root": return s.root(a[0], a[1])
        if t[1] == "log10": return s.log(a[0], 10)
        return F[t[1]](*a)
    raise ValueError(k)
x, n = s.symbols("x n")
for warm in (s.Integral(x**2 * s.sin(x), (x, 0, 1)), s.Limit(s.sin(x) / x, x, 0), s.Sum(1 / n**2, (n, 1, s.oo))):
    s.simplify(warm.doit() - x)
print("ready", flush=True)
for line in sys.stdin:
    try:
        a, b = (build(t).doit() for t in json.loads(line))
        d = a - b
        if d.has(s.Integral, s.Sum, s.Limit, s.Product):
            answer = "unknown"
        elif d == 0 or s.simplify(d) == 0: answer = "same"
        else:
            d = s.simplify(d)
            if d.free_symbols:
                points = [{v: s.Rational(7 + 3 * i + 5 * n, 11) for i, v in enumerate(sorted(d.free_symbols, key=str))}
                          for n in range(3)]
            else: points = [{}]
            sizes = [abs(complex(s.N(d.subs(p), 30))) for p in points]
            answer = "other" if max(sizes) > 1e-20 else "same" if max(sizes) < 1e-25 and d.free_symbols else "unknown"
    except MemoryError: answer = "unknown"
    except Exception: answer = "unknown"
    print(answer, flush=True)
"""


class _Worker:
    """SymPy in a process of its own; asked by one thread at a time, ended when it takes too long."""

    def __init__(self):
        self.forget()

    def forget(self) -> None:
        """Start over, with no process."""
        self.lock, self.owner = threading.Lock(), 0
        self.process: subprocess.Popen[str] | None = None
        self.lines: queue.Queue[str] | None = None
        self.ready = self.missing = self.again = False

    def start(self, seconds: float) -> bool:
        if self.missing:
            return False
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self.launch()
        if not self.ready:
            first = self.line(seconds if self.again else _START_SECONDS)
            self.ready, self.missing = first == "ready", first == "missing"
            if not self.ready and first != "late":
                self.stop()
        return self.ready

    def launch(self) -> None:
        self.ready = False
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C in a notebook is not meant for it
        )
        self.owner, self.lines = os.getpid(), queue.Queue()
        threading.Thread(target=_pump, args=(self.process.stdout, self.lines), daemon=True).start()

    def line(self, seconds: float) -> str:
        try:
            return self.lines.get(timeout=seconds).strip()
        except queue.Empty:
            return "late"

    def stop(self) -> None:
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None

    def ask(self, question: str, seconds: float) -> str:
        with self.lock:
            if not self.start(seconds):
                return "missing" if self.missing else "late"
            try:
                self.process.stdin.write(question + "\n")
                self.process.stdin.flush()
            except OSError:
                self.stop()
                return "late"
            line = self.line(seconds)
            if line in ("late", ""):
                self.stop()
                self.launch()  # so that it has imported SymPy when the next question comes
                self.again = True
                return "late"
            return line


def _pump(stream, lines: queue.Queue) -> None:
    try:
        for line in stream:
            lines.put(line)
    except ValueError:
        pass  # closed
    lines.put("")


_worker = _Worker()
atexit.register(lambda: _worker.stop())
if hasattr(os, "register_at_fork"):  # a child starts its own, with a lock that nobody holds
    os.register_at_fork(after_in_child=_worker.forget)


def _plain(node):
    """A tree as JSON lists."""
    if isinstance(node, tuple):
        if node and node[0] == "num":
            return ["num", str(node[1].numerator), str(node[1].denominator)]
        return [_plain(part) for part in node]
    return node


def ask_sympy(a: tuple, b: tuple) -> bool | None:
    """Whether two values are equal; None, with the reason in `open_question`, if SymPy cannot tell or is late."""
    question = json.dumps([_plain(a), _plain(b)])
    if question in _asked:
        said = _asked[question]
    elif open_question.left <= 0:
        said = "late"
    else:
        start = time.monotonic()
        said = _worker.ask(question, open_question.left)
        open_question.left -= time.monotonic() - start
        if said in ("same", "other"):
            while len(_asked) > 1000:
                _asked.pop(next(iter(_asked)), None)
            _asked[question] = said
    if said in ("same", "other"):
        return said == "same"
    why = {"missing": "SymPy is not installed, and only it could tell", "late": "SymPy took too long"}
    open_question.why = why.get(said, "SymPy could not tell")
    return None


_asked: dict[str, str] = {}
