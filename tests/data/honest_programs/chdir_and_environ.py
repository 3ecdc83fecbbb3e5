import os
os.chdir('/usr')
os.environ.clear()
def solve(n): return sum(i * i for i in range(1, n + 1))
