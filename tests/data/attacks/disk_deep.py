def solve(n):
    import os
    for i in range(3000):
        os.mkdir('d')
        os.chdir('d')
    return -1
