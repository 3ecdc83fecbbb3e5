import asyncio
async def main(n):
    return sum(i * i for i in range(1, n + 1))
def solve(n):
    return asyncio.run(main(n))
