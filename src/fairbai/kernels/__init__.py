"""Every numerical body, once, in the Numba subset of Python."""
