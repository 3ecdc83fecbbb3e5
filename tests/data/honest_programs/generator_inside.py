def squares(n):
    for i in range(1, n + 1): yield i * i
def solve(n):
    return sum(squares(n))
