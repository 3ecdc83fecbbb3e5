def solve(n):
    return len('x' * 10 ** 11)
