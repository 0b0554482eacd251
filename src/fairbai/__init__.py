"""Fair best arm identification.

Find the best of K options with confidence 1 - delta, in as few trials as possible, while every option is guaranteed
its minimum share of the trials.

Example:
    >>> import fairbai as fb
    >>> instance = fb.Instance([0.5, 0.4, 0.3], family=fb.Bernoulli(), floors=0.2)
    >>> fb.solve(instance).weights.round(3)
    array([0.399, 0.401, 0.2  ])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairbai import environments, sampling, simulation, stopping
    from fairbai.allocation import (
        Allocation,
        AllocationBatch,
        PriceOfFairness,
        lower_bound,
        price_of_fairness,
        solve,
        solve_batch,
    )
    from fairbai.analysis import Analysis, analyze
    from fairbai.experiment import Averages, Doubt, Settling
    from fairbai.identifier import Identifier, Status, Trial
    from fairbai.planning import Plan, plan
    from fairbai.problems import (
        Bernoulli,
        Bounded,
        Exponential,
        Factorial,
        Gaussian,
        Instance,
        Linear,
        Poisson,
        drifts,
        factorial,
        laws,
        rates,
    )
    from fairbai.simulation import Runs, Study, Summary, simulate, sweep

__version__ = "0.1.0"

__all__ = [
    "Allocation",
    "AllocationBatch",
    "Analysis",
    "Averages",
    "Bernoulli",
    "Bounded",
    "Doubt",
    "Exponential",
    "Factorial",
    "Gaussian",
    "Identifier",
    "Instance",
    "Linear",
    "Plan",
    "Poisson",
    "PriceOfFairness",
    "Runs",
    "Settling",
    "Status",
    "Study",
    "Summary",
    "Trial",
    "analyze",
    "drifts",
    "environments",
    "factorial",
    "laws",
    "lower_bound",
    "plan",
    "price_of_fairness",
    "rates",
    "sampling",
    "simulate",
    "simulation",
    "solve",
    "solve_batch",
    "stopping",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: Numba alone takes most of half a second to import.

    A package whose extra is missing counts as an attribute that is missing, so that ``help`` and ``hasattr`` work.
    """
    if name not in __all__:
        raise AttributeError(f"module 'fairbai' has no attribute {name!r}")
    if name in ("environments", "sampling", "simulation", "stopping"):
        try:
            return import_module(f"fairbai.{name}")
        except ImportError as error:
            raise AttributeError(str(error)) from error
    for package in ("problems", "allocation", "experiment", "identifier", "simulation", "planning", "analysis"):
        module = import_module(f"fairbai.{package}")
        if hasattr(module, name):
            break
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
