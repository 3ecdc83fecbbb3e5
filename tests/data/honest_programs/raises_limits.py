import resource, sys
def solve(n):
    try: resource.setrlimit(resource.RLIMIT_STACK, (-1, -1))
    except (ValueError, OSError): pass
    sys.setrecursionlimit(10 ** 9)
    return sum(i * i for i in range(1, n + 1))
