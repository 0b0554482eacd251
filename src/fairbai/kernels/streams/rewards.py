"""Rewards by inversion: one uniform, one reward. Inversion keeps a run the same on every machine and engine."""

import math

from fairbai.kernels.families import BERNOULLI, GAUSSIAN, POISSON
from fairbai.kernels.jit import kernel

MEAN, SPREAD, BELOW, FLOOR = range(4)
"""Rows of the truth of an instance: the means; the standard deviations of Gaussian arms, or P(X = mode) of Poisson
arms; P(X <= mode) of these; and the floors at the true means."""


@kernel
def _ratio(x, p0, p1, p2, p3, p4, p5, p6, p7, q1, q2, q3, q4, q5, q6, q7):
    """A rational function of degree 7 over 7, by Horner's rule."""
    over = ((((((p7 * x + p6) * x + p5) * x + p4) * x + p3) * x + p2) * x + p1) * x + p0
    return over / (((((((q7 * x + q6) * x + q5) * x + q4) * x + q3) * x + q2) * x + q1) * x + 1.0)


@kernel
def standard_normal(uniform):
    """The quantile of the standard normal law, to about 1e-16: algorithm AS 241 (Wichura 1988), PPND16."""
    from_half = uniform - 0.5
    if abs(from_half) <= 0.425:
        return from_half * _ratio(
            0.180625 - from_half * from_half,
            3.3871328727963666080e0,
            1.3314166789178437745e2,
            1.9715909503065514427e3,
            1.3731693765509461125e4,
            4.5921953931549871457e4,
            6.7265770927008700853e4,
            3.3430575583588128105e4,
            2.5090809287301226727e3,
            4.2313330701600911252e1,
            6.8718700749205790830e2,
            5.3941960214247511077e3,
            2.1213794301586595867e4,
            3.9307895800092710610e4,
            2.8729085735721942674e4,
            5.2264952788528545610e3,
        )
    tail = math.sqrt(-math.log(min(uniform, 1.0 - uniform)))
    if tail <= 5.0:
        size = _ratio(
            tail - 1.6,
            1.42343711074968357734e0,
            4.63033784615654529590e0,
            5.76949722146069140550e0,
            3.64784832476320460504e0,
            1.27045825245236838258e0,
            2.41780725177450611770e-1,
            2.27238449892691845833e-2,
            7.74545014278341407640e-4,
            2.05319162663775882187e0,
            1.67638483018380384940e0,
            6.89767334985100004550e-1,
            1.48103976427480074590e-1,
            1.51986665636164571966e-2,
            5.47593808499534494600e-4,
            1.05075007164441684324e-9,
        )
    else:
        size = _ratio(
            tail - 5.0,
            6.65790464350110377720e0,
            5.46378491116411436990e0,
            1.78482653991729133580e0,
            2.96560571828504891230e-1,
            2.65321895265761230930e-2,
            1.24266094738807843860e-3,
            2.71155556874348757815e-5,
            2.01033439929228813265e-7,
            5.99832206555887937690e-1,
            1.36929880922735805310e-1,
            1.48753612908506148525e-2,
            7.86869131145613259100e-4,
            1.84631831751005468180e-5,
            1.42151175831644588870e-7,
            2.04426310338993978564e-15,
        )
    return size if from_half > 0.0 else -size


@kernel
def _poisson(mean, at_mode, below, uniform):
    """The quantile of a Poisson law, by a search from its mode: about sqrt(mean) steps."""
    count, chance, reached = math.floor(mean), at_mode, below
    if uniform < reached:  # either search ends where the sum does not move any more
        while count > 0.0 and uniform < reached - chance and chance > 1e-18:
            reached -= chance
            chance *= count / mean
            count -= 1.0
        return count
    while uniform >= reached and chance > 1e-18:
        count += 1.0
        chance *= mean / count
        reached += chance
    return count


@kernel
def reward(family, truth, arm, uniform):
    """A reward of an arm."""
    mean = truth[MEAN, arm]
    if family == GAUSSIAN:
        return mean + truth[SPREAD, arm] * standard_normal(uniform)
    if family == BERNOULLI:
        return 1.0 if uniform < mean else 0.0
    if family == POISSON:
        return _poisson(mean, truth[SPREAD, arm], truth[BELOW, arm], uniform)
    return -mean * math.log(uniform)  # EXPONENTIAL
