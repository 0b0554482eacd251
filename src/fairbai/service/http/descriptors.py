"""How many connections a process can hold: each takes a file descriptor, and so do the database and the log."""

import sys

MAX_DESCRIPTORS = 65_536  # of a process; what systems allow beyond that helps nobody
RESERVED = 100  # for the database, the log, replays and streams


def raise_descriptors() -> int:
    """Let this process, and those that it starts, open as many files as the system allows; returns how many."""
    if sys.platform == "win32":
        return MAX_DESCRIPTORS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return most if soft == resource.RLIM_INFINITY else soft


def affordable(connections: int, descriptors: int) -> int:
    """How many connections to accept if so many are wanted, and so many files can be open."""
    return min(connections, max(descriptors - RESERVED, descriptors // 2))
