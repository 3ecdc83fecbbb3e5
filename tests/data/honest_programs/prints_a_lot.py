def solve(n):
    print('x' * 100000)
    return sum(i * i for i in range(1, n + 1))
