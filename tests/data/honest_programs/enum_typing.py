from enum import Enum
from typing import List, NamedTuple
class C(Enum):
    A = 1
class T(NamedTuple):
    v: int
def solve(n: int) -> int:
    return sum(T(i * i).v * C.A.value for i in range(1, n + 1))
