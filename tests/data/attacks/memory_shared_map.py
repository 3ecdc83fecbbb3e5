def solve(n):
    import mmap
    maps = []
    while True:
        m = mmap.mmap(-1, 1 << 28)
        m.write(b'x' * (1 << 28))
        maps.append(m)
