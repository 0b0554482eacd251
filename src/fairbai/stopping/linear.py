"""The stop of linear arms: one mixture over all parameters, without a union over the arms; docs/linear.md proves it."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from scipy.optimize import minimize_scalar

from fairbai.kernels.linear.evidence import KAPPAS, LOG_SHARES
from fairbai.kernels.stopping import scores as kernels
from fairbai.problems.checks import Array, confidence, number
from fairbai.problems.families import Family
from fairbai.problems.linear import Linear
from fairbai.stopping.ellipsoid import contrast_intervals
from fairbai.stopping.rules import Proof, StoppingRule


@dataclass(frozen=True, eq=False)
class LinearMixture(StoppingRule):
    """The method of mixtures on the parameters of linear arms; proved, for any sampling.

    Stops when, for every rival a of the arm b that looks best, Δ̂² / (2σ² (yᵀV⁻¹y + k yᵀV⁻²y)) exceeds
    log(1/δ) + ½ log det(I + V/k), where y = x_b - x_a and V = Σ x xᵀ over the rewards, in the coordinates of
    ``Linear``. There is no union over the arms: it costs the same for 18 arms and for 18,000.

    Args:
        kappa: k is κ times the number of parameters d. A number is best if the experiment takes about two to four times
            k trials; ``for_trials`` finds it from a guess. It must be fixed before the experiment; a poor choice costs
            trials but does not invalidate the proof. Without one, six mixtures with κ from 5 to 163,840 are averaged,
            which takes at most a third or so more trials than the best κ, up to about 10,000 trials per parameter.

    Example:
        >>> round(LinearMixture().level(0.05, arms=18), 4)
        2.9957
    """

    kappa: float | None = None
    proof: ClassVar[Proof] = Proof((Linear,))
    code: ClassVar[int] = kernels.LINEAR_MIXTURE

    def __post_init__(self) -> None:
        if self.kappa is not None:
            self._set(kappa=number("kappa", self.kappa, 1e-300, 1e300, "positive"))

    def parameters(self, arms: int) -> tuple[float, float, float, float]:
        """Kappa; 0 stands for the average."""
        return self.kappa or 0.0, 1.0, 0.0, 0.0

    def level(self, delta: float, arms: int) -> float:
        """log(1 / delta), whatever the number of arms."""
        return -math.log(delta)

    def _log_risk(self, score: float, arms: int) -> float:
        return -score

    def intervals(self, family: Linear, counts: Array, sums: Array, delta: float) -> Array:
        """The ends of an interval for the mean of each arm, one row per arm, all of which hold at all times.

        With probability at least 1 - delta all contain the true means: it is the event on which the stop is right.
        """
        return self.contrasts(family, counts, sums, delta, family.coordinates.T)[1]

    def contrasts(
        self, family: Linear, counts: Array, sums: Array, delta: float, contrasts: Array
    ) -> tuple[Array, Array]:
        """Estimates and intervals of linear functions of the parameters, one row each, in ``family.coordinates``."""
        mixtures = zip(KAPPAS, LOG_SHARES, strict=True) if self.kappa is None else [(self.kappa, 0.0)]
        spreads = [(kappa * family.dimension, share) for kappa, share in mixtures]
        return contrast_intervals(family.coordinates.T, family.variance, spreads, delta, counts, sums, contrasts)

    @classmethod
    def for_trials(cls, trials: float, delta: float, family: Family) -> Self:
        """The rule that is tightest if the experiment takes about ``trials`` trials, in equal shares.

        Example:
            >>> import numpy as np
            >>> LinearMixture.for_trials(1000, 0.05, Linear(np.eye(6))).kappa
            77.7
        """
        trials = number("trials", trials, 1.0, 1e300, "at least 1")
        asked = -math.log(confidence(delta))
        if not isinstance(family, Linear):
            raise ValueError(f"family must be linear, got {family.kind}")
        size = family.dimension

        def needed(log_ratio: float) -> float:  # trials at which V = n I reaches the threshold, up to a factor
            ratio = math.exp(log_ratio)
            return (1.0 + ratio) * (asked + 0.5 * size * math.log1p(1.0 / ratio))

        best = math.exp(float(minimize_scalar(needed, bounds=(-20.0, 5.0), method="bounded").x))
        return cls(float(f"{best * trials / size:.3g}"))
