import os
def solve(n):
    b = b'{"status": "failed"}'
    os.write(3, len(b).to_bytes(4, 'little') + b)
    os._exit(1)
