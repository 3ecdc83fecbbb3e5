import sys, time
sys.settrace(lambda *a: time.sleep(0.2))
def solve(n):
    return -1
