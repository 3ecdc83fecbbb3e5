def solve(n):
    raise KeyboardInterrupt
