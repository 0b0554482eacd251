"""The two calibration functions of Kaufmann and Koolen, "Mixture martingales revisited" (2021), exactly."""

import math

from scipy.special import lambertw, zeta


def c_exp(x: float) -> float:
    """C_exp(x), for one-parameter exponential families; their theorem 7.

    Example:
        >>> round(c_exp(1.0), 2)
        9.1
    """
    return 2.0 * _h_tilde((_h_inverse(1.0 + x) + math.log(2.0 * float(zeta(2.0)))) / 2.0)


def _h_inverse(x: float) -> float:
    """The solution u >= 1 of u - log u = x.

    It is -W(-e^-x) on the branch -1; where e^-x is too small for that, a fixed point.
    """
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


def _g_over(x: float, u: float) -> float:
    rest = math.exp(u)
    λ = 1.0 - rest
    if λ <= 0.5:
        return math.inf
    g = 2.0 * λ - 2.0 * λ * math.log(4.0 * λ) + math.log(float(zeta(2.0 * λ))) - 0.5 * u
    return (g + x) / λ
