def solve(n):
    import os
    os.abort()
