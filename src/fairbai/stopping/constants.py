"""The two calibration functions of Kaufmann and Koolen, "Mixture martingales revisited" (2021), and their inverses."""

import math

from scipy.special import lambertw, zeta


def c_exp(x: float) -> float:
    """C_exp(x), for one-parameter exponential families; their theorem 7.

    Example:
        >>> round(c_exp(1.0), 2)
        9.1
    """
    return 2.0 * _h_tilde((_h_inverse(1.0 + x) + math.log(2.0 * float(zeta(2.0)))) / 2.0)


def c_exp_inverse(value: float) -> float:
    """The largest x >= 0 with C_exp(x) <= value; -inf if there is none.

    Example:
        >>> round(c_exp_inverse(c_exp(1.0)), 12)
        1.0
    """
    half = 0.5 * value
    edge = 1.0 / math.log(1.5)
    if half >= math.exp(1.0 / edge) * edge:  # exp(1/u) u = half, which is w exp(-w) = 1 / half for w = 1 / u
        u = -1.0 / float(lambertw(-1.0 / half, 0).real)
        inner = u - math.log(u)
    else:
        inner = half / 1.5 + math.log(math.log(1.5))
    u = 2.0 * inner - math.log(2.0 * float(zeta(2.0)))
    return u - math.log(u) - 1.0 if u >= 1.0 else -math.inf


def _h_inverse(x: float) -> float:
    """The solution u >= 1 of u - log u = x.

    It is -W(-e^-x) on the branch -1; where e^-x is too small for that, a fixed point.
    """
    if x <= 1.0:  # where the branch begins, and rounding may leave it
        return 1.0
    if x < 600.0:
        return float(-lambertw(-math.exp(-x), -1).real)
    u = x
    for _ in range(50):
        u = x + math.log(u)
    return u


def _h_tilde(x: float) -> float:
    edge = 1.0 / math.log(1.5)
    if x >= edge - math.log(edge):
        u = _h_inverse(x)
        return math.exp(1.0 / u) * u
    return 1.5 * (x - math.log(math.log(1.5)))


def c_g(x: float) -> float:
    """C_g(x) = min over λ in (1/2, 1) of (g(λ) + x) / λ, for Gaussian arms; their theorem 9.

    Example:
        >>> round(c_g(1.0), 2)
        2.51
    """
    from scipy.optimize import minimize_scalar  # here: a third of a second that only one stopping rule needs

    # The minimiser tends to 1 like 1 - 1 / (2 x): searching for log(1 - λ) keeps its digits for any delta.
    found = minimize_scalar(
        lambda u: _g_over(x, u), bounds=(-745.0, math.log(0.5) - 1e-9), method="bounded", options={"xatol": 1e-10}
    )
    return float(found.fun)


def c_g_inverse(value: float) -> float:
    """The largest x with C_g(x) <= value: max over λ in (1/2, 1) of λ value - g(λ).

    Example:
        >>> round(c_g_inverse(c_g(1.0)), 9)
        1.0
    """
    from scipy.optimize import minimize_scalar  # here: as above

    found = minimize_scalar(
        lambda u: _g(u) - (1.0 - math.exp(u)) * value,
        bounds=(-745.0, math.log(0.5) - 1e-9),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(found.fun)


def _g_over(x: float, u: float) -> float:
    return (_g(u) + x) / (1.0 - math.exp(u))


def _g(u: float) -> float:
    """The function g at λ = 1 - exp(u)."""
    λ = 1.0 - math.exp(u)
    if λ <= 0.5:
        return math.inf
    return 2.0 * λ - 2.0 * λ * math.log(4.0 * λ) + math.log(float(zeta(2.0 * λ))) - 0.5 * u
