"""Experiments with linear arms: the same steps, with a fit of the means and the evidence of ``kernels.linear``."""

import math
from typing import Any

import numpy as np

from fairbai.allocation.linear import Polytope, polytope_of
from fairbai.compiling.entry import patiently
from fairbai.experiment.experiment import Evidence, Experiment
from fairbai.kernels import state as rows
from fairbai.kernels.linear import evidence as kernels
from fairbai.kernels.linear.allocate import allocate_linear
from fairbai.kernels.linear.settling import arm_for_groups, trials_to_groups
from fairbai.kernels.sampling.rules import FAIR_CUMULATIVE, FAIR_SAMPLED, UNIFORM_FAIR
from fairbai.problems.checks import Array, frozen
from fairbai.problems.families import Family
from fairbai.problems.linear import Linear
from fairbai.problems.rates import Overlapping
from fairbai.stopping import Heuristic, LinearMixture

RULES = (FAIR_SAMPLED, FAIR_CUMULATIVE, UNIFORM_FAIR)
STOPS = (LinearMixture, Heuristic)
LARGE = 2_000  # arms times parameters from which on a reward as Python takes a tenth of a second


class LinearExperiment(Experiment):
    """An experiment whose arms are linear; its arguments are those of ``Experiment``.

    The rewards tell about all arms: row MEAN of the state holds the fitted means, and arms are unseen as long as the
    rewards do not determine all parameters. The state is still counts and sums per arm.
    """

    def __init__(self, arms: int, family: Linear, *arguments: Any) -> None:
        super().__init__(arms, family, *arguments)
        floors, groups, inside = polytope_of(self.rates, arms)
        self._model = kernels.Model(family.coordinates, floors, *groups, inside)
        self._large = family.coordinates.size > LARGE
        self.scalars[rows.UNSEEN] = 1.0
        if isinstance(self.rates, Overlapping) and self.rates.groups:
            self.state[rows.CENTRE], self.state[rows.CEILING] = (
                self.rates.polytope(arms).centre,
                self.rates.ceilings(arms),
            )
            self.scalars[rows.SLACK] = 0.0  # rules that mix then do so with these shares

    def _check(self) -> None:
        """The rules of arms without structure come first, so that nobody is told to mend one that is not for these."""
        if not self.python_rule and self.sampling.code not in RULES:
            raise ValueError(
                f"sampling rule {self.sampling.kind} is for arms without structure: linear arms take "
                f"FairTrackAndStop, UniformFair, or a rule of your own"
            )
        if not isinstance(self.stopping, STOPS):
            raise ValueError(
                f"stopping rule {self.stopping.kind} is for arms without structure: linear arms take LinearMixture()"
            )
        super()._check()

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the run loop takes."""
        return *super().arrays, self._model

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return self.codes, self.params, self._model, self.state, self.scalars

    def reconsider(self, level: float = -math.inf) -> Evidence:
        """Bring the fit and the allocation up to date with the rewards; returns the evidence, always exact."""
        entry = patiently(kernels.reconsider_linear) if self._large else kernels.reconsider_linear
        found: Evidence = entry(*self._arguments)
        return found

    def exact_evidence(self) -> Evidence:
        """The evidence."""
        found: Evidence = kernels.evidence_of_linear(*self._arguments)
        return found

    def how_sure(self) -> tuple[float, Evidence]:
        """The best score that speaks for the named arm; and the evidence now."""
        found = self.exact_evidence()
        return max(found[0], float(self.state[rows.BEST_SCORE, self.best])), found

    def candidates(self, level: float) -> Any:
        """Whether each arm may still be the best."""
        entry = patiently(kernels.linear_candidates) if self._large else kernels.linear_candidates
        return entry(*self._arguments, level)

    @property
    def names_an_arm(self) -> bool:
        """Whether the rewards determine all parameters."""
        return not self.unseen

    def recount(self) -> None:
        """Bring what follows from the counts and sums up to date."""
        super().recount()
        self.exact_evidence()

    def _optimal_cost(self) -> float:
        """1 / T*_p at the fitted means."""
        one, ties = self._model, frozen(self.state[rows.STRETCH : rows.SHIFT + 1])
        means, limits = frozen(self.state[rows.MEAN]), Polytope(one.floors, (one.members, one.totals), one.inside)
        question = (one.features, float(self.state[rows.SCALE, 0]), means, ties, self.best, limits)
        entry = patiently(allocate_linear) if self._large else allocate_linear
        return float(entry(*question, kernels.GAP, np.empty(means.size))[0])

    def trials_to_settle(self, floors: Array) -> int:
        """The number of further trials after which these floors, and those of groups, are met."""
        if not self.limited:
            return super().trials_to_settle(floors)
        return int(trials_to_groups(self._model, self.state, floors))

    def settling_arm(self, floors: Array, end: int) -> int:
        """The next arm on the way there."""
        if not self.limited:
            return super().settling_arm(floors, end)
        return int(arm_for_groups(self._model, self.state, floors))


def experiment_of(arms: int, family: Family, *arguments: Any) -> Experiment:
    """An experiment with arms of this family; the arguments are those of ``Experiment``."""
    if isinstance(family, Linear):
        return LinearExperiment(arms, family, *arguments)
    return Experiment(arms, family, *arguments)
