from dataclasses import dataclass
@dataclass(order=True)
class P:
    x: int
def solve(n):
    return sum(P(i * i).x for i in range(1, n + 1))
