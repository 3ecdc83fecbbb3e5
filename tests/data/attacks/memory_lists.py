def solve(n):
    x = []
    while True: x = [x, list(range(10 ** 6))]
