def solve(n):
    r = []
    for _ in range(60): r = [r, r]
    return r
