def solve(n):
    x = bytearray(200 << 20)
    return sum(i * i for i in range(1, n + 1))
