def solve(n):
    for i in range(100):
        open(f'f{i}', 'wb').write(b'x' * (16 << 20))
