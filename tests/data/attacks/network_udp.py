def solve(n):
    import socket
    socket.socket(2, 2).sendto(b'x', ('127.0.0.1', @PORT@))
