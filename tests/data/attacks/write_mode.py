def solve(n):
    import os
    os.chmod('@CANARY@', 0)
