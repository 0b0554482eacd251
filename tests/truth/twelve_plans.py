"""Twelve plans, fixed before any of them was simulated: what is planned must be what experiments take.

Six are in the documentation, six are not. They differ in family, arms (2 to 20), gaps, floors, delta and question.
"""

from dataclasses import dataclass

import fairbai as fb


@dataclass(frozen=True)
class Case:
    """A plan to be compared with simulations.

    Attributes:
        name: What it is.
        instance: The means, the family, the floors and the question.
        delta: The error probability.
    """

    name: str
    instance: fb.Instance
    delta: float = 0.05


COUNTS = [3.6, *(3.0 - 0.05 * arm for arm in range(19))]
BELOW_100 = fb.Bounded(0.0, 100.0, variance=60.0)
NOISY = fb.Gaussian(None, guess=[1.0, 2.0, 4.0, 1.0])
WITH_CONTROL = fb.Instance([0.20, 0.20, 0.17], "bernoulli", rates=0.1, tolerance=0.03, control=0)

TWELVE = (
    Case("README", fb.Instance([0.12, 0.10, 0.09], "bernoulli", rates=0.2)),
    Case("choose_floors.md", fb.Instance([0.30, 0.22, 0.18], "bernoulli", rates=0.2)),
    Case("service.md", fb.Instance([0.10, 0.12, 0.10], "bernoulli", rates=0.1)),
    Case("commands.md", fb.Instance([2.0, 1.0, 0.0], fb.Gaussian([1.0, 4.0, 4.0]), rates=0.25)),
    Case("families.md, stars", fb.Instance([4.1, 3.9, 3.8], fb.Bounded(1.0, 5.0, variance=0.8), rates=0.2)),
    Case("dashboard.md, ten arms", fb.Instance([0.3] * 9 + [0.5], "bernoulli", rates=0.08)),
    Case("variances unknown", fb.Instance([5.0, 4.4, 4.2, 3.5], NOISY, rates=[0.1, 0.2, 0.05, 0.3]), 0.01),
    Case("twenty counts", fb.Instance(COUNTS, "poisson", rates=0.02), 0.1),
    Case("waiting times, no floors", fb.Instance([1.0, 1.3, 1.6], "exponential", goal="min"), 0.2),
    Case("control and tolerance", WITH_CONTROL),
    Case("a small gap", fb.Instance([0.50, 0.52], "bernoulli", rates=0.4)),
    Case("revenue up to 100", fb.Instance([3.0, 3.6, 2.5, 2.8, 3.0], BELOW_100, rates=0.05), 0.1),
)
"""In the documentation: the first six. With a stop for means that change: those with 0 and 1 or bounded rewards."""
