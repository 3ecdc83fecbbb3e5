def solve(n):
    import os
    os.listdir('@FAKEHOME@')
    return open('@FAKEHOME@/token').read()
