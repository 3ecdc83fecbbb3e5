import sys
def solve(n):
    sys.stdout.close()
    return sum(i * i for i in range(1, n + 1))
