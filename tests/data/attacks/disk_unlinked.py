def solve(n):
    import os
    keep = []
    for i in range(100):
        f = open('f', 'wb')
        os.unlink('f')
        f.write(b'x' * (16 << 20))
        f.flush()
        keep.append(f)
