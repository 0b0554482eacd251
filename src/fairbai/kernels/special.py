"""Special functions that the families are made of, each to (nearly) all digits of a double."""

import math

from fairbai.kernels.jit import kernel, subroutine

CENTRE_OVER = (
    3.3871328727963666080e0,
    1.3314166789178437745e2,
    1.9715909503065514427e3,
    1.3731693765509461125e4,
    4.5921953931549871457e4,
    6.7265770927008700853e4,
    3.3430575583588128105e4,
    2.5090809287301226727e3,
)
CENTRE_UNDER = (
    4.2313330701600911252e1,
    6.8718700749205790830e2,
    5.3941960214247511077e3,
    2.1213794301586595867e4,
    3.9307895800092710610e4,
    2.8729085735721942674e4,
    5.2264952788528545610e3,
)
SHOULDER_OVER = (
    1.42343711074968357734e0,
    4.63033784615654529590e0,
    5.76949722146069140550e0,
    3.64784832476320460504e0,
    1.27045825245236838258e0,
    2.41780725177450611770e-1,
    2.27238449892691845833e-2,
    7.74545014278341407640e-4,
)
SHOULDER_UNDER = (
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)
TAIL_OVER = (
    6.65790464350110377720e0,
    5.46378491116411436990e0,
    1.78482653991729133580e0,
    2.96560571828504891230e-1,
    2.65321895265761230930e-2,
    1.24266094738807843860e-3,
    2.71155556874348757815e-5,
    2.01033439929228813265e-7,
)
TAIL_UNDER = (
    5.99832206555887937690e-1,
    1.36929880922735805310e-1,
    1.48753612908506148525e-2,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
)
"""Algorithm AS 241 (Wichura 1988), PPND16: the coefficients of the rational functions for uniforms near 1/2, further
out, and in the far tails, from the constant term up. The constant term below the line is 1."""


@kernel
def log1p_minus(u):
    """log(1 + u) - u without cancellation, for u > -1.

    With t = u / (2 + u), log(1 + u) = 2 artanh(t) and 2 t - u = -u t. Thirteen terms: t is at most 1/4.
    """
    if u < -0.4 or u > 0.6:
        return math.log1p(u) - u
    t = u / (2.0 + u)
    square = t * t
    series = 0.0
    for odd in range(27, 1, -2):
        series = series * square + 1.0 / odd
    return 2.0 * t * square * series - u * t


@kernel
def relative_entropy(mean, other, change):
    """The value of mean log(mean / other) + other - mean, and its limit for mean = 0."""
    if mean <= 0.0:
        return change
    if other <= 0.0:
        return math.inf
    if other < 0.6 * mean:
        return mean * math.log(mean / other) + change
    return -mean * log1p_minus(change / mean)


@kernel
def xlogy(x, y):
    """The value of x log y, and its limit for x = 0."""
    return x * math.log(y) if x > 0.0 else 0.0


@kernel
def log_gamma(x):
    """The logarithm of Gamma(x) for x > 0, by Stirling's series.

    The last bits of ``math.lgamma`` are others where it is not compiled.
    """
    product = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    square = 1.0 / (x * x)
    series = 1.0 / 1188.0 - square * (691.0 / 360360.0 - square / 156.0)
    series = 1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square * series)))
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi) + series / x - math.log(product)


@kernel
def stirling(s, shift):
    """The value of log Gamma(s + shift) - s log s + s to all digits, for large s too; shift is 1/2 or 1."""
    if s <= 0.0:
        return log_gamma(shift)
    if s < 1e6:
        return log_gamma(s + shift) - s * math.log(s) + s
    return 0.5 * math.log(2.0 * math.pi) + (shift - 0.5) * math.log(s)  # the next term is below 1e-7


@kernel
def _ratio(x, over, under):
    """A rational function of degree 7 over 7, by Horner's rule."""
    above = over[7] * x + over[6]
    above = (((((above * x + over[5]) * x + over[4]) * x + over[3]) * x + over[2]) * x + over[1]) * x + over[0]
    below = under[6] * x + under[5]
    below = (((((below * x + under[4]) * x + under[3]) * x + under[2]) * x + under[1]) * x + under[0]) * x + 1.0
    return above / below


@kernel
def normal_quantile(uniform):
    """The quantile of the standard normal law, to about 1e-16."""
    from_half = uniform - 0.5
    if abs(from_half) <= 0.425:
        return from_half * _ratio(0.180625 - from_half * from_half, CENTRE_OVER, CENTRE_UNDER)
    tail = math.sqrt(-math.log(min(uniform, 1.0 - uniform)))
    if tail <= 5.0:
        size = _ratio(tail - 1.6, SHOULDER_OVER, SHOULDER_UNDER)
    else:
        size = _ratio(tail - 5.0, TAIL_OVER, TAIL_UNDER)
    return size if from_half > 0.0 else -size


@kernel
def poisson_quantile(mean, at_mode, below, uniform):
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


LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


@kernel
def bounded_quantile(mean, spread, uniform):
    """The quantile of a law on [0, 1]: the Beta law with this standard deviation, or that of 0 and 1.

    It is the latter if ``spread`` is negative, or as large as it can be with this mean.
    """
    most, variance = mean * (1.0 - mean), spread * spread
    if spread < 0.0 or variance >= most * (1.0 - 1e-9):
        return 1.0 if uniform < mean else 0.0
    if spread == 0.0:
        return mean
    size = most / variance - 1.0
    return beta_quantile(mean * size, (1.0 - mean) * size, uniform)


@subroutine
def beta_quantile(a, b, uniform):
    """The quantile of a Beta law to about 1e-12, by Newton's method in a bracket that shrinks by half at least."""
    scale = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)
    low, high, x = 0.0, 1.0, a / (a + b)
    for number in range(200):
        reached = _beta_distribution(a, b, scale, x)
        low, high = (x, high) if reached < uniform else (low, x)
        density = math.exp(scale + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x))
        new = x - (reached - uniform) / density if density > 0.0 else low
        if not low < new < high or number % 3 == 2:
            new = 0.5 * (low + high)
        if abs(new - x) <= 1e-12 or not low < new < high:
            return new
        x = new
    return x


@kernel
def _log_gamma(x):
    """Log Gamma(x) by the approximation of Lanczos; that of the C library and of Numba differ in their last bits."""
    total = LANCZOS[0]
    for k in range(1, len(LANCZOS)):
        total += LANCZOS[k] / (x + k)
    height = x + 7.5
    return 0.5 * math.log(2.0 * math.pi) + (x + 0.5) * math.log(height) - height + math.log(total / x)


@kernel
def _beta_distribution(a, b, scale, x):
    """P(X <= x) under a Beta law, by its continued fraction on the side where that converges quickly."""
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    if x * (a + b + 2.0) < a + 1.0:
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


@kernel
def _beta_fraction(a, b, x):
    """The continued fraction of the incomplete Beta function, by the method of Lentz."""
    tiny = 1e-300
    above, below = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    below = 1.0 / (below if abs(below) > tiny else tiny)
    value = below
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        for term in (even, odd):
            below = 1.0 + term * below
            below = 1.0 / (below if abs(below) > tiny else tiny)
            above = 1.0 + term / above
            above = above if abs(above) > tiny else tiny
            value *= above * below
        if abs(above * below - 1.0) < 1e-15:
            break
    return value
