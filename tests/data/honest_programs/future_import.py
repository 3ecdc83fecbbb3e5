from __future__ import annotations
def solve(n: Nothing) -> Never: return sum(i * i for i in range(1, n + 1))
