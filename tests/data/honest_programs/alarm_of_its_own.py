import signal
def solve(n):
    def ring(*_): raise TimeoutError
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        while n: n += 0
    except TimeoutError:
        return sum(i * i for i in range(1, n + 1))
