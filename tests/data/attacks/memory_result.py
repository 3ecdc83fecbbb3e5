def solve(n):
    return ['x' * 1000] * 10 ** 6
