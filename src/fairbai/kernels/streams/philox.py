"""A counter-based random stream: Philox4x32-10 (Salmon et al., SC 2011).

A draw is a pure function of (seed, run, round), so a run is the same on any thread, chunk, process or engine, and
an experiment that is resumed goes on as if it had never stopped. All products fit 64 bits, so that the code gives
the same bits, and no overflow warning, with the JIT off.
"""

import numpy as np

from fairbai.kernels.jit import kernel

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLY_0, _MULTIPLY_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@kernel
def philox(c0, c1, c2, c3, k0, k1):
    """Four random 32-bit words for a counter of four words and a key of two (all as uint64 below 2^32)."""
    for _ in range(10):
        product_0, product_1 = _MULTIPLY_0 * c0, _MULTIPLY_1 * c2
        c0, c1, c2, c3 = (
            (product_1 >> _HALF) ^ c1 ^ k0,
            product_1 & _LOW,
            (product_0 >> _HALF) ^ c3 ^ k1,
            product_0 & _LOW,
        )
        k0, k1 = (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


@kernel
def two_uniforms(seed, run, number):
    """Two independent uniforms in (0, 1) for round ``number`` of ``run``: one for the rule, one for the reward."""
    seed, run, number = np.uint64(seed), np.uint64(run), np.uint64(number)
    w0, w1, w2, w3 = philox(number & _LOW, number >> _HALF, run & _LOW, run >> _HALF, seed & _LOW, seed >> _HALF)
    return _unit(w0, w1), _unit(w2, w3)


@kernel
def _unit(high, low):
    """A double strictly between 0 and 1 from 52 of 64 bits, centred in its cell."""
    return (float((high << np.uint64(20)) | (low >> np.uint64(12))) + 0.5) * 2.0**-52
