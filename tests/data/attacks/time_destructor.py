class D:
    def __del__(self):
        while True: pass
def solve(n):
    D()
    return -1
