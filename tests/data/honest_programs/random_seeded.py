import random
random.seed(4)
x = random.random()
def solve(n):
    assert x == random.Random(4).random()
    return sum(i * i for i in range(1, n + 1))
