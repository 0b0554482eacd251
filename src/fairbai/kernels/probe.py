"""A small kernel, to see whether kernels can be compiled here.

It consists of all that the others consist of: an entry that calls a subroutine, which takes a kernel in line.
"""

import numpy as np

from fairbai.compiling import requests, waiting
from fairbai.kernels.jit import borrowed, entry, kernel, subroutine


@kernel
def _half(number):
    return 0.5 * number


@subroutine
def _sum_of_halves(numbers):
    total = 0.0
    for number in numbers:
        total += _half(number)
    return total


@entry
def half_sum(numbers):
    """Half of the sum."""
    return _sum_of_halves(borrowed(numbers))


def try_out() -> str | None:
    """Let the compiler compile it, and call it; returns what is wrong, if anything is."""
    numbers = np.arange(5.0)
    signature = half_sum.dispatcher.signature_of((numbers,))
    waiting.be_quiet()
    if not waiting.wait(half_sum.function, signature, lambda: half_sum.dispatcher.holds(signature)):
        return requests.trouble()
    found = half_sum.compiled(numbers)
    return None if found == 5.0 else f"half of 10 came out as {found!r}"
