"""The allocation problem: how fast `fb.solve` and `fb.solve_batch` are, against peers."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import fairbai as fb
from benchmarks.measure import Ratio, best_of, duration, faster, in_turns, median, printed, sized, slower, timed
from fairbai.charts.plans import figures
from fairbai.compiling.cache import CACHE_ROOT
from fairbai.kernels.allocation import floors as kernels
from fairbai.planning.plan import plan
from tests.oracle.conic import ClarabelGaussian, conic_characteristic_time, limit_rows
from tests.oracle.limits import Bounds

Floats = NDArray[np.float64]

SEED = 20
BATCH, PEER_INSTANCES = sized((1000, 15), (4, 4))
TARGETS = sized({10: 400.0, 100: 1000.0, 1000: 1500.0}, {10: 400.0})
"""The numbers of arms, and how many times faster than the textbook peer we want to be."""
MANY = sized((10_000, 1_000_000), (100, 10_000))
AGREEMENT = 1e-4
MAX_GAP = 1e-9

_FIRST_SOLVE = """
from time import perf_counter
start = perf_counter()
import fairbai as fb
fb.solve(fb.Instance([0.5, 0.4, 0.3], floors=0.1))
print(perf_counter() - start)
"""

_TRIVIAL = """
import numba

@numba.njit(cache=True)
def add_one(x):
    return x + 1.0
"""


def suite() -> Iterator[Ratio]:
    """The solver of the allocation problem, on one core.

    Ours and the peers are timed in turns in one process, the best of nine in three rounds. Gaussian instances have
    standard normal means, variance 1, and floors that are uniform on the simplex, times 0.5. `solve_batch` is timed as
    a whole, including input checks, on 1,000 instances (200 for other families at K = 1,000); times are per instance.
    Peers get the first 15 of the same instances, one at a time; their time is the median over these. The answers are
    compared: a peer that differs by more than 1e-4 stops the run. Clarabel stops at its default tolerance of 1e-8 (in
    CVXPY 1e-10); ours must certify a relative gap of at most 1e-9.

    Both Clarabel peers have their matrices built beforehand; creating the solver object and solving are timed. The
    textbook peer is what one would write down first, with every variable scaled to the order of 1 (without that it
    fails at K = 1,000) and default settings; the targets were set against it. The tuned peer uses the leanest
    reformulation and the fastest settings that we found.

    With limits: the same means and floors, every ceiling 3 / K above its floor, and two groups of a quarter of the arms
    each, with a floor of 0.2 each. Here `solve` takes the 15 instances one at a time, including its Python object; both
    times are medians over these. The peers have the same linear constraints in their matrices.

    `import fairbai` alone is cheap because names are loaded on first use; their cost is in the rows of the first solve.
    A plan is what the page shows while somebody edits it: trials, shares and figures.
    Numba initialises itself at the first call of any compiled function; a function that adds 1, compiled before and
    cached like ours, shows how long that takes.
    """
    for arms, at_least in TARGETS.items():
        yield from against_clarabel(arms, at_least)
    yield against_cvxpy()
    for arms in TARGETS:
        yield from within_limits(arms)
    for floors in (True, False):
        yield growth(floors)
    yield overhead()
    for arms in TARGETS:
        yield from other_families(arms)
    yield planning()
    yield import_time()
    yield from first_solve()


@dataclass(frozen=True)
class Batch:
    """Instances with the same number of arms, as rows."""

    means: Floats
    floors: Floats

    def solve(self, family: fb.Gaussian | fb.Bernoulli | fb.Poisson | fb.Exponential | None = None) -> Floats:
        return fb.solve_batch(self.means, self.floors, family).characteristic_time


def gaussian_batch(arms: int, count: int = BATCH) -> Batch:
    rng = np.random.default_rng([SEED, arms])
    return Batch(rng.standard_normal((count, arms)), 0.5 * rng.dirichlet(np.ones(arms), count))


class TextbookGaussian:
    """The Gaussian problem of variance 1 as a textbook writes it, on Clarabel's interface and default settings.

    Minimise z subject to w >= p, sum w = 1, t_a + t_b <= z gap_a^2 and w_i t_i >= 1, K cones of three dimensions:
    |(w_i - t_i, 2)| <= w_i + t_i. Then T*_p = 2 z. In units of 1 / K for w and of K for t and z all variables are
    of the order of 1; with others Clarabel needs more iterations, or ends far from the optimum.
    """

    def __init__(self, means: Floats, floors: Floats, bounds: Bounds | None = None) -> None:
        size = means.size
        best = int(np.argmax(means))
        others = np.delete(np.arange(size), best)
        self.size = size
        self.P = sparse.csc_matrix((2 * size + 1, 2 * size + 1))
        self.q = np.append(np.zeros(2 * size), 1.0)
        total = _entries(1, size, [(0, np.arange(size), 1.0)])
        above = _entries(size, size, [(np.arange(size), np.arange(size), -1.0)])
        row, gaps = np.arange(size - 1), means[best] - means[others]
        demands = [(row, size + others, 1.0), (row, size + best, 1.0), (row, 2 * size, -(gaps**2))]
        limits, most = limit_rows(bounds, size, 2 * size + 1)
        self.A = sparse.vstack([total, above, limits, _entries(size - 1, size, demands), _cones(size)], format="csc")
        sides = [[size], -size * floors, size * most, np.zeros(size - 1), np.tile([0.0, 0.0, 2.0], size)]
        self.b = np.concatenate(sides)
        self.cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * size - 1 + most.size)]
        self.cones += [clarabel.SecondOrderConeT(3)] * size
        self.settings = clarabel.DefaultSettings()
        self.settings.verbose = False

    def solve(self) -> tuple[float, Floats]:
        """Return the characteristic time and the weights."""
        solver = clarabel.DefaultSolver(self.P, self.q, self.A, self.b, self.cones, self.settings)
        values = np.asarray(solver.solve().x)
        return 2.0 * self.size * float(values[-1]), values[: self.size] / self.size


def _cones(size: int) -> sparse.csr_matrix:
    """Rows of the slack (w_i + t_i, w_i - t_i, 2), its constant apart."""
    arm = np.arange(size)
    top = 3 * arm
    return _entries(
        3 * size, size, [(top, arm, -1.0), (top, size + arm, -1.0), (top + 1, arm, -1.0), (top + 1, size + arm, 1.0)]
    )


def _entries(rows: int, size: int, parts: list[tuple[Any, Any, Any]]) -> sparse.csr_matrix:
    """A sparse matrix over (w, t, z) from parts (row, column, value), each broadcast."""
    spread = [np.broadcast_arrays(*part) for part in parts]
    row, column, value = (np.concatenate([np.ravel(part[i]) for part in spread]) for i in range(3))
    return sparse.csr_matrix((value, (row, column)), shape=(rows, 2 * size + 1))


def against_clarabel(arms: int, at_least: float) -> Iterator[Ratio]:
    """Ours against both Clarabel peers, all in turns."""
    batch = gaussian_batch(arms)
    instances = list(zip(batch.means[:PEER_INSTANCES], batch.floors[:PEER_INSTANCES], strict=True))
    textbook = [TextbookGaussian(means, floors).solve for means, floors in instances]
    tuned = [ClarabelGaussian(means.tolist(), floors.tolist()).solve for means, floors in instances]
    _compare(batch, textbook)
    _compare(batch, tuned)
    ours, *theirs = best_of([batch.solve, *textbook, *tuned], rounds=3)
    ours, what = ours / BATCH, f"solve_batch, Gaussian with floors, K = {arms:,}, per instance"
    yield faster(
        what, ours, "Clarabel, textbook cones, default settings", median(theirs[:PEER_INSTANCES]), at_least=at_least
    )
    yield faster(what, ours, "Clarabel, tuned reformulation", median(theirs[PEER_INSTANCES:]))


def against_cvxpy() -> Ratio:
    """What most people would do: the model in CVXPY, compiled to cones and solved anew for every instance."""
    batch = gaussian_batch(10)
    rows = zip(batch.means[:PEER_INSTANCES].tolist(), batch.floors[:PEER_INSTANCES].tolist(), strict=True)
    peers = [partial(conic_characteristic_time, means, floors, "gaussian") for means, floors in rows]
    _compare(batch, peers)
    ours, *theirs = best_of([batch.solve, *peers], rounds=3)
    what = "solve_batch, Gaussian with floors, K = 10, per instance"
    return faster(what, ours / BATCH, "CVXPY with Clarabel", median(theirs), at_least=10_000)


def within_limits(arms: int) -> Iterator[Ratio]:
    """With ceilings and group floors: ours against both Clarabel peers and, for ten arms, against CVXPY."""
    batch, quarter = gaussian_batch(arms, PEER_INSTANCES), arms // 4
    groups = [(tuple(range(start, start + quarter)), 0.2, 1.0) for start in (0, quarter)]
    rows = [
        (*row, Bounds(row[1], row[1] + 3.0 / arms, tuple(groups)))
        for row in zip(batch.means, batch.floors, strict=True)
    ]
    instances = [fb.Instance(means, floors=_bounded(bounds)) for means, _, bounds in rows]
    ours = [partial(fb.solve, instance) for instance in instances]
    peers: dict[str, list[Callable[[], tuple[float, Any]]]] = {
        "Clarabel, textbook cones, default settings": [TextbookGaussian(*row).solve for row in rows],
        "Clarabel, tuned reformulation": [
            ClarabelGaussian(means.tolist(), floors.tolist(), bounds=bounds).solve for means, floors, bounds in rows
        ],
    }
    if arms == 10:
        peers["CVXPY with Clarabel"] = [
            partial(conic_characteristic_time, means.tolist(), floors.tolist(), "gaussian", bounds=bounds)
            for means, floors, bounds in rows
        ]
    for name, theirs in peers.items():
        _compare_each([solve() for solve in ours], theirs)
        times = best_of([*ours, *theirs], rounds=3)
        what = f"solve, Gaussian with floors, ceilings and groups, K = {arms:,}"
        yield faster(what, median(times[:PEER_INSTANCES]), name, median(times[PEER_INSTANCES:]))


def _bounded(bounds: Bounds) -> fb.rates.Bounded:
    return fb.rates.Bounded(bounds.floors, bounds.ceilings, [fb.rates.Group(*group) for group in bounds.groups])


def growth(floors: bool) -> Ratio:
    """The cost of a hundred times as many arms, with `fb.solve` on instances that were checked beforehand.

    Medians over instances, because it is chance whether an instance takes one pass more or less.
    """
    count = 7
    calls = [partial(fb.solve, row) for arms in MANY for row in _instances(arms, count, floors)]
    times = best_of(calls, rounds=3)
    name = "with floors" if floors else "without floors"
    small, large = median(times[:count]), median(times[count:])
    what, peer = (f"K = {arms:,}" for arms in reversed(MANY))
    return slower(f"solve, Gaussian {name}, {what}", large, f"the same at {peer}", small, at_most=130)


def overhead() -> Ratio:
    """The cost of the Python object around the kernel: `fb.solve` against the kernel on prepared arrays."""
    limit = 25e-6
    (instance,) = _instances(10, 1, floors=True)
    weights, workspace = np.empty(10), kernels.new_workspace(10)
    bare = partial(kernels.allocate, *instance.problem(-1), instance.floors, 0.0, weights, workspace)
    ours, theirs = best_of([partial(fb.solve, instance), bare], rounds=20, number=1000)
    more = ours - theirs
    ratio = f"{ours / theirs:.3g}x the time, {duration(more)} more"
    what = "solve, Gaussian with floors, K = 10"
    return Ratio(what, ours, "the kernel alone", theirs, ratio, "at most 25 µs more", more <= limit)


def other_families(arms: int) -> Iterator[Ratio]:
    """The other families against the Gaussian, on the same means and floors; only the family differs.

    Bernoulli means are uniform on (0, 1), Poisson and exponential means log-normal.
    """
    count = min(BATCH, 200_000 // arms)
    rng = np.random.default_rng([SEED, arms])
    floors = 0.5 * rng.dirichlet(np.ones(arms), count)
    uniform = Batch(rng.uniform(size=(count, arms)), floors)
    positive = Batch(rng.lognormal(size=(count, arms)), floors)
    for family, batch in ((fb.Bernoulli(), uniform), (fb.Poisson(), positive), (fb.Exponential(), positive)):
        ours, theirs = best_of([partial(batch.solve, family), batch.solve], rounds=3)
        what = f"solve_batch, {type(family).__name__} with floors, K = {arms:,}, per instance"
        yield slower(what, ours / count, "the same with Gaussian arms", theirs / count, at_most=60)


def planning() -> Ratio:
    """A plan and its figures, as often as the page asks for them, beside one solve of the same instance."""
    limit = 0.5
    instance = fb.Instance([0.1] * 9 + [0.12], fb.Bernoulli(), fb.rates.Constant(0.05))
    ours, theirs = best_of([lambda: figures(plan(instance, delta=0.05)), partial(fb.solve, instance)], rounds=5)
    ratio = f"{ours / theirs:.3g}x the time"
    return Ratio("a plan and its figures, K = 10", ours, "one solve", theirs, ratio, "at most 500 ms", ours <= limit)


def import_time() -> Ratio:
    """`import fairbai` against `import numpy`, medians over fresh interpreters."""
    limit = 0.5
    programs = [timed("import fairbai"), timed("import numpy")]
    ours, theirs = (median([run[0] for run in runs]) for runs in in_turns(programs, 7, os.environ))
    ratio = f"{ours / theirs:.3g}x the time"
    return Ratio("import fairbai", ours, "import numpy", theirs, ratio, "at most 500 ms", ours <= limit)


def first_solve() -> Iterator[Ratio]:
    """Import and one solve in a fresh interpreter, with the kernels compiled by an earlier process.

    The kernels are kept in a directory of this run, so that the earlier process finds it empty. The log of the compiler
    shows whether anything was compiled again.
    """
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "trivial.py").write_text(_TRIVIAL)
        cache = sized(directory, str(CACHE_ROOT))
        environment = {**os.environ, "FAIRBAI_CACHE_DIR": cache, "NUMBA_CACHE_DIR": directory}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (directory, os.environ.get("PYTHONPATH"))))
        trivial = timed("import trivial; trivial.add_one(1.0)")
        (first,), before = printed(_FIRST_SOLVE, environment), _compiled(cache)
        printed(trivial, environment)
        runs = in_turns([_FIRST_SOLVE, timed("import numba"), trivial], 7, environment)
        again = _compiled(cache) - before
    ours, numba, called = (median([run[0] for run in program]) for program in runs)
    what = "import fairbai and first solve in a second process"
    ratio = f"{ours / numba:.3g}x the time, {again} compiled"
    yield Ratio(what, ours, "import numba", numba, ratio, "no kernel compiled", again == 0)
    yield slower(what, ours, "import numba and first call of a trivial function", called)
    yield faster(what, ours, f"the first process, compiled: {before}", first)


def _compiled(cache: str) -> int:
    """How many kernels that Python calls were compiled so far."""
    return sum(log.read_text().count(" s of CPU, ") for log in Path(cache).rglob("requests/log"))


def _instances(arms: int, count: int, floors: bool) -> list[fb.Instance]:
    batch = gaussian_batch(arms, count)
    rows = zip(batch.means, batch.floors, strict=True)
    return [fb.Instance(means, floors=floor if floors else 0.0) for means, floor in rows]


def _compare(batch: Batch, peers: Sequence[Callable[[], tuple[float, Any]]]) -> None:
    """Stop if a peer found another answer, or ours is not exact: the speed of a wrong answer means nothing."""
    solved = fb.solve_batch(batch.means, batch.floors)
    _check_gap(solved.duality_gap.max())
    for ours, peer in zip(solved.characteristic_time, peers, strict=False):
        _check_peer(ours, peer()[0])


def _compare_each(solved: Sequence[fb.Allocation], peers: Sequence[Callable[[], tuple[float, Any]]]) -> None:
    for one, peer in zip(solved, peers, strict=True):
        _check_gap(one.duality_gap)
        _check_peer(one.characteristic_time, peer()[0])


def _check_gap(gap: float) -> None:
    if gap > MAX_GAP:
        raise ArithmeticError(f"our duality gap is {gap}, expected at most {MAX_GAP}")


def _check_peer(ours: float, theirs: float) -> None:
    if abs(theirs / ours - 1.0) > AGREEMENT:
        raise ArithmeticError(f"the peer found a characteristic time of {theirs}, ours is {ours}")
