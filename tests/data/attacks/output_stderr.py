def solve(n):
    import os
    while True: os.write(2, b'x' * 100000)
