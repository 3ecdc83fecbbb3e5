import tempfile, os
def solve(n):
    with tempfile.NamedTemporaryFile('w+', delete=False) as f:
        f.write(str(sum(i * i for i in range(n + 1))))
    with open(f.name) as g: r = int(g.read())
    os.remove(f.name)
    return r
