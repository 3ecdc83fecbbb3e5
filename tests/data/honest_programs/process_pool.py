import multiprocessing, subprocess, sys
def solve(n):
    code = f'print(sum(i * i for i in range({n} + 1)))'
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    return int(out.stdout)
