def solve(n):
    open('@SCRATCH@/new', 'w').write('x')
