"""The configuration of an experiment: codes and parameters, which never change while it runs.

Python keeps them in two small arrays, so that a call stays cheap. Each entry makes a ``Config`` of them, which is what
the kernels below it take. It holds numbers only: an array in a tuple would cost reference counting at every call.
"""

from collections import namedtuple

from fairbai.kernels.jit import kernel

FAMILY, RATE, LEARNED, RULE, ORIGIN, STOPPING, CONTROL, SEED, RUN = range(9)
"""Codes: the family, the rate (CONSTANT for one that Python computes), whether the rate depends on the means, the
sampling rule and how it starts, the stopping rule, the control or -1, and the random stream."""

P0, TEMPERATURE, PARAMETER, SECOND, KAPPA, SIZE, ALPHA, BONUS = range(8)
"""Parameters: two of the rate, two of the sampling rule (the margin and the earning of fair top-two, or the delta of
LUCB), and four of the stopping rule (the weight of its prior in rewards, the typical mean of Poisson and exponential
arms, the share of a mixture that is spent on the best arm alone, and the constant that it adds to the martingale of the
named arm)."""

Config = namedtuple(
    "Config",
    "family rate learned rule origin stopping control seed run p0 temperature parameter second kappa size alpha bonus",
)


@kernel
def configure(codes, params):
    """The configuration that Python holds in two arrays."""
    return configure_run(codes[FAMILY], codes, params, codes[RUN])


@kernel
def configure_run(family, codes, params, run):
    """The same for another run. ``family`` is that of the codes, or a constant that the compiler can fold."""
    return Config(
        family,
        codes[RATE],
        codes[LEARNED] == 1,
        codes[RULE],
        codes[ORIGIN],
        codes[STOPPING],
        codes[CONTROL],
        codes[SEED],
        run,
        params[P0],
        params[TEMPERATURE],
        params[PARAMETER],
        params[SECOND],
        params[KAPPA],
        params[SIZE],
        params[ALPHA],
        params[BONUS],
    )
