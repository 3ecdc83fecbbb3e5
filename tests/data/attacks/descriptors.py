def solve(n):
    import os
    while True: os.pipe()
