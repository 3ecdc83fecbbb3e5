def solve(n):
    import os
    os.makedirs('a/b')
    open('a/b/c', 'w').close()
    os.chmod('a/b', 0)
    os.chmod('a', 0)
    os.chmod('.', 0)
    return -1
