class Solution:
    def helper(self, i): return i * i
    def solve(self, n):
        return sum(map(self.helper, range(1, n + 1)))
