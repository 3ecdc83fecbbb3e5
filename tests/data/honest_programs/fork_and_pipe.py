import os
def solve(n):
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, str(sum(i * i for i in range(n + 1))).encode())
        os._exit(0)
    os.wait()
    return int(os.read(r, 100))
