# -*- coding: latin-1 -*-
Ü = 'é'
def solve(n):
    assert len(Ü) == 1
    return sum(i * i for i in range(1, n + 1))
