def solve(n):
    import socket
    socket.create_connection(('127.0.0.1', @PORT@), 1).send(b'x')
