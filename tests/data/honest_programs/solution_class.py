class Solution:
    def __init__(self): self.total = 0
    def solve(self, n):
        self.total += sum(i * i for i in range(1, n + 1))
        return self.total
