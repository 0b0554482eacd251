"""Random allocation problems that visit every regime of the solution, in rotation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tests.oracle import extended

Floats = NDArray[np.float64]

FAMILIES = ("gaussian", "bernoulli", "poisson", "exponential")
KINDS = (
    "smooth",
    "zeros in p",
    "below w*",
    "far above w*",
    "unit sum",
    "near unit sum",
    "best arm at floor",
    "kink",
    "wide gaps",
    "equal gaps",
    "wild variances",
    "two arms",
    "close means",
)
_GRID = 2**40
_SCAN = 33


@dataclass(frozen=True)
class OracleInstance:
    """One allocation problem: maximise min_a C_a(w) over w >= floors with sum w = 1.

    Attributes:
        means: One mean an arm; the largest is unique.
        floors: One lower bound an arm.
        family: "gaussian", "bernoulli", "poisson" or "exponential".
        variance: One known variance, or one an arm; read for "gaussian" only.
        kind: The regime that the instance was drawn for.
    """

    means: tuple[float, ...]
    floors: tuple[float, ...]
    family: str = "gaussian"
    variance: float | tuple[float, ...] = 1.0
    kind: str = "smooth"

    @property
    def best(self) -> int:
        """The index of the largest mean."""
        return int(np.argmax(self.means))

    @property
    def variances(self) -> Floats:
        """One variance per arm."""
        return np.broadcast_to(np.asarray(self.variance, dtype=float), (len(self.means),)).copy()


def random_instances(family: str, count: int, seed: int, arms: tuple[int, int] = (2, 12)) -> Iterator[OracleInstance]:
    """Yield `count` problems of a family that rotate through all kinds.

    Args:
        family: One of `FAMILIES`.
        count: How many to yield.
        seed: Equal seeds give equal problems.
        arms: The smallest and the largest number of arms; "two arms" always has two.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {FAMILIES}, got {family!r}")
    kinds = [kind for kind in KINDS if kind != "wild variances" or family == "gaussian"]
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    for index in range(count):
        kind = kinds[index % len(kinds)]
        size = 2 if kind == "two arms" else int(rng.integers(arms[0], arms[1] + 1))
        yield _draw(family, kind, size, rng)


def _draw(family: str, kind: str, size: int, rng: np.random.Generator) -> OracleInstance:
    while True:
        means = _means(family, kind, size, rng)
        if np.sum(means == means.max()) == 1:
            break
    instance = OracleInstance(_plain(means), (0.0,) * size, family, _variance(family, kind, size, rng), kind)
    return replace(instance, floors=_plain(_floors(instance, rng)))


def _plain(values: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _variance(family: str, kind: str, size: int, rng: np.random.Generator) -> float | tuple[float, ...]:
    if family != "gaussian":
        return 1.0
    if kind == "wild variances":
        return _plain(10.0 ** rng.uniform(-3, 3, size))
    if rng.random() < 0.5:
        return float(10.0 ** rng.uniform(-1, 1))
    return _plain(rng.uniform(0.5, 2.0, size))


def _means(family: str, kind: str, size: int, rng: np.random.Generator) -> Floats:
    if kind == "wide gaps":
        return _wide_means(family, size, rng)
    if kind == "equal gaps":
        means = np.full(size, _one_mean(family, rng))
        means[rng.integers(size)] *= 0.999 if means[0] < 0 else 1.001
        return means if rng.random() < 0.3 else _two_levels(family, size, rng)
    if kind == "close means":
        scale = 10.0 ** rng.uniform(-8, -4)
        return np.asarray(_one_mean(family, rng) * (1 - scale * rng.random(size)))
    return np.array([_one_mean(family, rng) for _ in range(size)])


def _one_mean(family: str, rng: np.random.Generator) -> float:
    if family == "gaussian":
        return float(rng.normal())
    if family == "bernoulli":
        return float(rng.uniform(0.02, 0.98))
    return float(np.exp(rng.normal()))


def _two_levels(family: str, size: int, rng: np.random.Generator) -> Floats:
    low, high = sorted((_one_mean(family, rng), _one_mean(family, rng)))
    means = np.full(size, low)
    means[rng.integers(size)] = high
    return means


def _wide_means(family: str, size: int, rng: np.random.Generator) -> Floats:
    """Draw gaps over sixteen orders of magnitude, as far as the family's range of means allows."""
    best = int(rng.integers(size))
    if family == "gaussian":
        gaps = 10.0 ** rng.uniform(-8, 8, size)
        gaps[best] = 0.0
        return -gaps
    # Half of the arms come close to the best from below, half go down to zero.
    top = rng.uniform(0.5, 0.99) if family == "bernoulli" else 10.0 ** rng.uniform(-4, 4)
    near = 1 - 10.0 ** rng.uniform(-8, -0.5, size)
    far = 10.0 ** rng.uniform(-8, -0.5, size)
    shares = np.where(rng.random(size) < 0.5, near, far)
    shares[best] = 1.0
    return np.asarray(top * shares)


def _floors(instance: OracleInstance, rng: np.random.Generator) -> Floats:
    size, kind = len(instance.means), instance.kind
    spread = rng.dirichlet(np.ones(size))
    if kind == "below w*":
        # The factor leaves room for the error of w*.
        return _crossing(instance, 0.0)[0] * rng.uniform(0.0, 0.999, size)
    if kind == "far above w*":
        floors = spread * 0.1
        floors[np.argmin(_crossing(instance, 0.0)[0])] += rng.uniform(0.5, 0.88)
        return floors
    if kind in ("unit sum", "near unit sum"):
        return _full_floors(spread, kind == "near unit sum", rng)
    if kind == "best arm at floor":
        floors = spread * 0.1
        floors[instance.best] += rng.uniform(0.55, 0.88)
        return floors
    if kind == "kink":
        return _kink_floors(instance, rng)
    floors = spread * rng.uniform(0.0, 0.95)
    if kind == "zeros in p" or rng.random() < 0.2:
        floors[rng.random(size) < 0.5] = 0.0
    return floors


def _full_floors(spread: Floats, short: bool, rng: np.random.Generator) -> Floats:
    """Return floors that sum to one: exactly, but for rounding, or just short of it.

    Every floor stays above 0.01 / K: with a zero among them the value would be proportional to the slack, and
    a slack of the size of a rounding error is not a question for double precision.
    """
    floors = 0.01 / spread.size + 0.99 * spread
    floors /= floors.sum()
    if short and rng.random() < 0.5:
        return floors  # the sum is within rounding of one, on either side
    floors = np.round(floors * _GRID) / _GRID  # on this grid sums are exact
    floors[np.argmax(floors)] += 1.0 - floors.sum()
    if short:
        floors[rng.integers(floors.size)] -= 10.0 ** rng.uniform(-15, -6)
    return floors


def _kink_floors(instance: OracleInstance, rng: np.random.Generator) -> Floats:
    """Return floors under which one arm is tight and at its floor over an interval of the problem's data.

    Take weights with equal costs at which the slopes sum to more than 1, but to less than 1 without the
    largest of them, arm k's, and make w_k its floor. Weight taken from the best arm is then less than what
    all arms together need in return; weight given to it is more than what they can spare, as k can spare
    none. Neither slope of the value is zero, so the optimum stays there under small changes of the data.
    """
    weights, slopes = _crossing(instance, rng.uniform(0.2, 0.8))
    floors = weights * rng.uniform(0.0, 0.9, weights.size)
    arm = int(np.argmax(slopes))
    floors[arm] = weights[arm]
    return np.asarray(floors)


def _crossing(instance: OracleInstance, fraction: float) -> tuple[Floats, Floats]:
    """Return weights with equal costs, and slopes, where the slopes sum to 1 without a part of the largest.

    Three scans over the bisection variable, each within the bracket of the last, to about 1e-4.
    """
    best = instance.best
    means = np.array(instance.means, dtype=np.longdouble)[None, :]
    variances = instance.variances.astype(np.longdouble)[None, :]
    one = extended.pairs_of(instance.family, means, variances, np.array([best]))
    pairs = extended.repeat(one, _SCAN)
    low, high = -20.0, 20.0
    for _ in range(3):
        grid = np.linspace(low, high, _SCAN, dtype=np.longdouble)[:, None]
        budget = extended.Budget(grid * 0, np.zeros_like(pairs.other), grid * 0 + 1)
        start = np.exp(grid) + 0 * pairs.other
        point = extended.evaluate(pairs, budget, extended.nearest(pairs), grid, start)
        totals = point.slopes.sum(axis=1) - fraction * point.slopes.max(axis=1)
        row = int(np.argmax(totals >= 1))
        low, high = float(grid[row - 1, 0]), float(grid[row, 0])
    weights = np.insert(point.ratios[row].astype(float), best, 1.0)
    return weights / weights.sum(), np.insert(point.slopes[row].astype(float), best, 0.0)
