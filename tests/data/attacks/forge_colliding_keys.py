import os, json
def solve(n):
    m = 2 ** 61 - 1
    return dict.fromkeys([i * m for i in range(60)] + list(range(1, 2000)))
