"""F-TaS for many runs at once in NumPy: one row per arm, one column per run. Gaussian arms of variance 1.

Written to be fast. Rows are arms, so that a sum over arms adds long contiguous rows. The allocation problem is solved
for all runs in step by the search of our own kernel (Newton on one number r, from where the last round ended; see
``fairbai.kernels.allocation`` for the formulas), one pass over all arms of all runs at a time; runs that are solved
drop out of the search. A run that has stopped makes room for the next one, so that the arrays stay full.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-8
MAX_PASSES = 200
NEARBY = 1.05
FAR = 1e200
R, VALUE, SLOPE, ROOT, X = range(5)
"""What is known of a candidate: r, the value c (0 if there is none), the slope of c along the curve, where Newton goes
from there, and x, the share of the best arm."""


class Search:
    """Solves the allocation problem for many runs."""

    def __init__(self, floors: Floats, columns: int) -> None:
        self.floors = floors[:, None]
        self.spare = max(0.0, 1.0 - float(floors.sum()))
        self.buffers = np.empty((4, floors.size, columns))

    def solve(self, excess: Floats, own: Floats, r: Floats, x: Floats) -> None:
        """Bring ``r`` and ``x``, the share of the best arm, from those of the last round to the optimum.

        ``excess`` is (gap / least gap)^2 - 1, or FAR for the best arm; ``own`` is the floor of the best arm.
        """
        all_r, all_x = r, x
        place, edge = np.arange(r.size), NEARBY * x
        streak, side = np.zeros(r.size), np.zeros(r.size)
        found, low, high = np.zeros((3, X + 1, r.size))
        high[R] = np.inf
        for _ in range(MAX_PASSES):
            point, inside, mass, pull, bound, stable = self._pass(excess, own, r, edge)
            np.copyto(found, point, where=stable & (point[VALUE] > found[VALUE]))
            rising = pull > inside
            np.copyto(low, point, where=stable & rising)
            np.copyto(high, point, where=stable & ~rising)
            cross, height = _crossing(low, high)
            np.copyto(streak, np.where(rising == side, streak + 1.0, 0.0), where=stable)
            np.copyto(side, rising, where=stable)
            r = np.where(stable, _next(low, high, point, streak, cross), r)
            edge = np.where(stable, _expect(point, inside, mass, pull, r), point[X])
            edge[mass + inside == 0.0] = np.inf  # so low a guess that nothing is above its floor
            solved = found[VALUE] >= (1.0 - TOLERANCE) * np.minimum(bound, height)
            solved |= (r <= low[R]) | (r >= high[R])
            solved &= stable
            if solved.any():
                all_r[place[solved]], all_x[place[solved]] = found[R, solved], found[X, solved]
                kept = np.flatnonzero(~solved)
                if kept.size == 0:
                    return
                excess, low, high, found = (np.take(one, kept, axis=1) for one in (excess, low, high, found))
                place, own, r, edge, streak, side = (one[kept] for one in (place, own, r, edge, streak, side))
        raise ArithmeticError(f"{place.size} runs are unsolved after {MAX_PASSES} passes")

    def _pass(self, excess: Floats, own: Floats, r: Floats, edge: Floats) -> tuple[Floats, ...]:
        """All sums over the arms that are above their floors at x = edge, and what follows from them."""
        need, leaves, above, power = self.buffers[:, :, : r.size]
        np.multiply(excess, 1.0 + r, out=need)
        need += r
        np.multiply(need, self.floors, out=leaves)
        np.less(leaves, edge, out=above)
        leaves *= above
        least = leaves.max(axis=0)
        np.divide(above, need, out=need)  # psi, or 0 at the floor
        above *= self.floors
        floor, mass = above.sum(axis=0), need.sum(axis=0)
        np.multiply(need, need, out=power)
        pull = power.sum(axis=0)
        power *= need
        turn = power.sum(axis=0)
        inside = (edge > own) * 1.0
        grow, both = 1.0 + r, pull + mass
        point = np.empty((X + 1, r.size))
        x = np.divide(self.spare + floor + inside * own, mass + inside, out=point[X])
        stable = (least < x) & (x < edge) & ((inside == 0.0) | (x > own))
        stable |= np.abs(x - edge) <= 1e-14 * edge  # only rounding can turn it round
        root = r + grow * pull * (np.sqrt(pull) - 1.0) / (pull + turn)
        below = np.flatnonzero(inside == 0.0)
        if below.size:
            root[below] = _up_to_own_floor(own, r, x, mass, pull, root, below)
        root[pull == 0.0] = 0.0
        point[R], point[ROOT] = r, root
        np.divide(x, grow, out=point[VALUE])
        np.divide(pull - inside, r * both + mass + inside, out=point[SLOPE])
        bound = (floor + own * pull + self.spare * np.maximum(1.0, pull)) / (grow * both)
        bound[mass == 0.0] = np.inf
        return point, inside, mass, pull, bound, stable


def _up_to_own_floor(
    own: Floats, r: Floats, x: Floats, mass: Floats, pull: Floats, root: Floats, below: NDArray[np.intp]
) -> Floats:
    """Below the floor of the best arm c rises at least until that floor is met."""
    own, r, x, mass, pull, root = (one[below] for one in (own, r, x, mass, pull, root))
    meet = r + (1.0 + r) * np.expm1(mass / (pull + mass) * np.log(own / x))
    return np.where(pull > 1.0, np.maximum(root, meet), meet)


def _crossing(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The r at which the tangents at two candidates meet and the value there: an upper bound, for c is concave."""
    start = low[VALUE] * low[R]
    rise = high[VALUE] - low[VALUE] + low[SLOPE] * start - high[SLOPE] * high[VALUE] * high[R]
    cross = rise / (low[SLOPE] - high[SLOPE])
    height = low[VALUE] + low[SLOPE] * (cross - start)
    return cross / height, np.where((low[VALUE] > 0.0) & (high[VALUE] > 0.0), height, np.inf)


def _next(low: Floats, high: Floats, point: Floats, streak: Floats, cross: Floats) -> Floats:
    """The next r: Newton; the crossing if Newton from either side points past the other; or halving."""
    kink = (low[VALUE] > 0.0) & (high[VALUE] > 0.0) & (streak < 2.0)
    kink &= low[ROOT] - high[ROOT] > 0.5 * (high[R] - low[R])
    r = np.where(kink, cross, point[ROOT])
    lost = np.flatnonzero(~((streak <= 4.0) & (low[R] < r) & (r < high[R])))
    if lost.size:
        a, b = low[R, lost], high[R, lost]
        wide = np.where(a > 0.0, np.sqrt(a * b), b / 8.0)
        r[lost] = np.where(b == np.inf, 8.0 * a, np.where(b > 4.0 * a, wide, 0.5 * (a + b)))
    return r


def _expect(point: Floats, inside: Floats, mass: Floats, pull: Floats, r: Floats) -> Floats:
    """About where x will be at r, a little too high."""
    power = (pull + mass) / (mass + inside)
    step = (r - point[R]) / (1.0 + point[R])
    growth = 1.0 + power * step * (1.0 + 0.5 * (power - 1.0) * step) + 0.1 * step * step + 1e-9
    return point[X] * np.maximum(0.1, growth)


class Runs:
    """Runs of F-TaS with the heuristic threshold, ``columns`` of them at a time.

    Args:
        means: Of the arms.
        floors: All positive.
        delta: The probability of a wrong answer.
        columns: How many runs go on at a time.
        seed: Of the generator.
    """

    def __init__(self, means: Floats, floors: Floats, delta: float, columns: int, seed: int) -> None:
        self.truth, self.floors, self.delta = means, floors, delta
        self.explore = (floors + max(0.0, 1.0 - floors.sum()) / means.size)[:, None]
        self.rng = np.random.default_rng(seed)
        self.search = Search(floors, columns)
        self.column = np.arange(columns)
        self.counts, self.sums, self.means, self.inverse = np.empty((4, means.size, columns))
        self.number, self.r, self.x = np.empty((3, columns))
        self.rounds = means.size
        self.times: list[Floats] = []
        self._begin(self.column)
        self._test()

    def first_times(self) -> Floats:
        """Run until all of the first runs have stopped, and return their stopping times."""
        while sum(map(len, self.times)) < self.column.size:
            self.step()
        return np.concatenate(self.times)

    def step(self) -> None:
        """One round of every run."""
        shares = self.shares()
        mix = 0.5 / np.sqrt(self.number + 1.0)
        shares *= 1.0 - mix
        shares += mix * self.explore
        np.cumsum(shares, axis=0, out=shares)
        mark = self.rng.random(self.column.size) * shares[-1]
        arm = (shares <= mark).sum(axis=0)
        at = arm, self.column
        self.sums[at] += self.truth[arm] + self.rng.standard_normal(self.column.size)
        self.counts[at] += 1.0
        self.inverse[at] = 1.0 / self.counts[at]
        self.means[at] = self.sums[at] * self.inverse[at]
        self.number += 1.0
        self.rounds += 1
        self._test()

    def shares(self) -> Floats:
        """The optimal allocation of every run."""
        with np.errstate(divide="ignore", invalid="ignore"):  # of what np.where then drops
            self.search.solve(self.excess, self.own, self.r, self.x)
        shares = self.excess * (1.0 + self.r)
        shares += self.r
        np.divide(self.x, shares, out=shares)
        np.maximum(shares, self.floors[:, None], out=shares)
        shares[self.best, self.column] = np.maximum(self.own, self.x)
        return shares

    def _begin(self, fresh: NDArray[np.intp]) -> None:
        """Start new runs in these columns: every arm once."""
        arms = self.truth.size
        first = self.truth[:, None] + self.rng.standard_normal((arms, fresh.size))
        self.counts[:, fresh], self.inverse[:, fresh] = 1.0, 1.0
        self.sums[:, fresh], self.means[:, fresh] = first, first
        self.number[fresh], self.r[fresh], self.x[fresh] = arms, 1.0, 1.0

    def _test(self) -> None:
        """Replace the runs whose evidence suffices by new ones; prepare the next round."""
        while True:
            top = self.means.max(axis=0)
            self.best = np.zeros_like(self.column)
            for arm, row in enumerate(self.means):  # argmax over the first axis is slow
                np.copyto(self.best, arm, where=row == top)
            gaps = top - self.means
            gaps[self.best, self.column] = np.inf
            np.multiply(gaps, gaps, out=gaps)
            evidence = self.inverse + self.inverse[self.best, self.column]
            np.divide(gaps, evidence, out=evidence)  # twice the GLR
            enough = 2.0 * np.log((1.0 + np.log(self.number)) / self.delta)
            stopped = np.flatnonzero(evidence.min(axis=0) >= enough)
            if stopped.size == 0:
                break
            times = self.number[stopped]
            self.times.append(times[times == self.rounds])
            self._begin(stopped)
        self.own = self.floors[self.best]
        gaps /= gaps.min(axis=0)
        gaps -= 1.0
        gaps[self.best, self.column] = FAR
        self.excess = gaps
