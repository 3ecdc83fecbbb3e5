def solve(n):
    import asyncio
    asyncio.run(asyncio.open_connection('127.0.0.1', @PORT@))
