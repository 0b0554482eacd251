"""Many runs of one rule on one instance."""

from collections.abc import Sequence

from fairbai.experiment import Settling
from fairbai.problems.checks import whole
from fairbai.problems.configured import Form
from fairbai.problems.drifts import Drift
from fairbai.problems.instance import Instance
from fairbai.problems.laws import Law
from fairbai.sampling import SamplingRule
from fairbai.simulation.engine import run_all
from fairbai.simulation.runs import Runs
from fairbai.simulation.scenario import make_scenario
from fairbai.stopping import StoppingRule

MAX_RUNS = 2**53


def simulate(
    instance: Instance,
    deltas: float | Sequence[float] = 0.05,
    sampling: SamplingRule | Form | None = None,
    stopping: StoppingRule | Form | None = None,
    settle: bool | Settling = False,
    runs: int = 1000,
    seed: int = 0,
    maximum_rounds: int = 1_000_000,
    histogram: bool = False,
    trace: bool | Sequence[int] = False,
    progress: bool | None = None,
    drift: Drift | Form | None = None,
    look_every: int = 1,
    law: Law | Form | None = None,
) -> Runs:
    """Run experiments on simulated rewards, as an ``Identifier`` with the same settings would go.

    Run i of seed s is the same on any number of threads, processes and machines. All cores work, in threads; inside
    ``joblib.parallel_config`` the engine is the one that is configured there, such as a Dask or a Ray cluster.

    One run answers every delta: it goes on until the smallest is answered and notes when each threshold is crossed.

    Rules and rates that are written in Python work too, several hundred times slower; a custom rate whose
    function is compiled with ``numba.njit`` runs compiled.

    Args:
        instance: The true means, the family and the floors.
        deltas: One probability of a wrong answer or several, each in (0, 1/2).
        sampling: The sampling rule; ``FairTopTwo()`` by default, or a rule that draws if the stopping rule is
            ``DesignBased``.
        stopping: The stopping rule; ``Mixture()``, the tightest proved one, by default.
        settle: Whether to go on after the decision until every floor is met (up to less than one trial, where floors
            sum to 1). A ``Settling`` raises floors that depend on the means by a margin for their error, and may go on
            learning them.
        runs: How many.
        seed: Of the random streams; run i is stream i of this seed.
        maximum_rounds: A run that has no answer after so many trials is given up, and marked as censored; what it would
            have named, and how sure it was, is kept. (Settling may go past it.)
        histogram: Whether to count the violation of every round, in 1,000 steps.
        trace: Whether to keep shares and GLR at ten rounds a decade; or the rounds at which to keep them.
        progress: Whether to show a progress bar; by default, only on a terminal, after a second.
        drift: How the means change with the trials, from those of the instance: one of ``fairbai.drifts``. The right
            answer is then the arm that is best on average until the decision.
        look_every: Decisions are made only after multiples of so many trials.
        law: Of rewards that are not of the declared family: one of ``fairbai.laws``. Nothing is proved for them: errors
            are observed.

    Example:
        >>> import fairbai as fb
        >>> instance = fb.Instance([1.0, 0.5, 0.0], floors=0.2)
        >>> runs = fb.simulate(instance, deltas=[0.1, 0.01], runs=200, seed=1)
        >>> runs.stopping_time.shape, bool(runs.correct.mean() > 0.98)
        ((200, 2), True)
    """
    rules = (sampling, stopping, settle, seed, maximum_rounds, histogram, trace)
    scenario = make_scenario(instance, deltas, *rules, drift=drift, look_every=look_every, law=law)
    return run_all(scenario, whole("runs", runs, 1, MAX_RUNS), progress)
