def solve(n):
    while True: print('x' * 10000)
