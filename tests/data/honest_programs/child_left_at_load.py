import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
def solve(n): return sum(i * i for i in range(1, n + 1))
