from functools import lru_cache
@lru_cache(None)
def f(i): return 0 if i == 0 else i * i + f(i - 1)
def solve(n): return f(n)
