def solve(n):
    import os
    os.link('@CANARY@', 'lnk')
    open('lnk', 'w').write('hacked')
