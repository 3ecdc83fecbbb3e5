import asyncio
async def part(i):
    await asyncio.sleep(0)
    return i * i
async def solve(n):
    return sum(await asyncio.gather(*(part(i) for i in range(1, n + 1))))
