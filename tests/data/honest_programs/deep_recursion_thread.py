import sys, threading
sys.setrecursionlimit(10 ** 6)
threading.stack_size(64 << 20)
def rec(i): return 0 if i == 0 else 1 + rec(i - 1)
def solve(n):
    out = []
    t = threading.Thread(target=lambda: out.append(rec(20000)))
    t.start()
    t.join()
    assert out == [20000]
    return sum(i * i for i in range(1, n + 1))
