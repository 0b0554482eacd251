"""The sockets of a server, bound before anything else is done: a port that is taken is noticed first."""

import errno
import socket
import sys


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets at all addresses of a host; connections are refused until a server listens on them."""
    if not 0 <= port <= 65_535:
        raise ValueError(f"port must be from 0 to 65535, got {port}")
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"host must be an address of this machine, got {host!r}: {error}") from None
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            sockets.append(_bound(family, kind, protocol, address))
    except OSError as error:
        for one in sockets:
            one.close()
        raise ValueError(_explained(host, port, error)) from None
    return sockets


def _bound(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # where it would allow a second server
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.set_inheritable(True)
    except OSError:
        made.close()
        raise
    return made


def _explained(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is already in use: stop the other server, or choose another with --port"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} needs more rights: ports below 1024 are for administrators"
    return f"cannot listen on port {port} of {host}: {error.strerror}"
