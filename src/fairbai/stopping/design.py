"""The design-based stop: proved whatever the drift, because every arm is drawn with a known probability."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairbai.kernels.allocation.floors import allocate, new_workspace
from fairbai.kernels.stopping import design as kernels
from fairbai.kernels.stopping.scores import DESIGN_BASED
from fairbai.problems.checks import Array, Numbers, array, confidence, number
from fairbai.problems.families import Bernoulli, Bounded
from fairbai.problems.instance import Instance
from fairbai.stopping.rules import Proof, StoppingRule

TYPICAL_TRIALS = 5000.0  # of an experiment about which nothing is said
EXTRA = 2.0  # nats beyond the level at the stop, about
STEP = 0.22  # from one bet of the grid to the next, as the logarithm of a ratio
SPAN = 16.0  # how far below and above the typical bet the grid goes
MAX_BETS = 64
EARLY = 0.9  # of the best bet: the growth is flat there, and a smaller bet loses less where rewards are unlucky
PLANNED, GUESSED = 0.1, 0.3  # the spread of bets that come from an instance or from a number of trials


@dataclass(frozen=True, eq=False)
class DesignBased(StoppingRule):
    """Proved whatever the drift: the answer is the arm that was best *on average over the experiment so far*.

    The rewards of an arm may change with the hour, the season or anything that happened before; the proof only needs
    that they are bounded, that every arm is drawn with a known probability of at least its floor, and that what a trial
    counts as does not depend on arms drawn after it (on its own arm, its reward and earlier trials it may). It weighs
    every reward by that probability and bets on the residuals from a prediction, with a mixture over sizes of the bet.
    It stops when, for every other arm, the evidence that the leader's average is above that arm's exceeds K(K-1)/δ; see
    docs/stopping.md.

    It takes Bernoulli and Bounded rewards, needs floors that are known beforehand and positive, and a rule that draws
    its arms from the first trial on, such as the default rule of an experiment with this stop.

    Args:
        bet: The size λ of the bet that suits the expected experiment, for rewards in [0, 1]; a poor choice costs trials
            but does not invalidate the proof. ``for_instance`` and ``for_trials`` find it. By default it suits about
            5,000 trials.
        spread: How uncertain that is: the scale of the Cauchy law that the logarithm of the bet is given.

    Example:
        >>> round(DesignBased().level(0.05, arms=3), 4)
        4.7875
    """

    bet: float | None = None
    spread: float = 1.0
    proof: ClassVar[Proof] = Proof(
        (Bernoulli, Bounded),
        sampling="a rule that draws every arm with a known probability, which is at least its guarantee",
        delays=(
            "any, even if they depend on the trial's own arm and reward and on earlier trials, as long as every trial "
            "is counted in the end, and what it counts as does not depend on arms drawn after it: trials are summed in "
            "the order of assignment, up to the first whose reward is not known"
        ),
        drift="any: the mean of each arm may change at every trial, and depend on all that happened before it",
    )
    drift_proof: ClassVar[bool] = True
    estimand: ClassVar[str] = "the average of each arm over the trials of the experiment so far"
    code: ClassVar[int] = DESIGN_BASED

    def __post_init__(self) -> None:
        self._set(spread=number("spread", self.spread, 0.01, 100.0, "from 0.01 to 100"))
        if self.bet is not None:
            self._set(bet=number("bet", self.bet, 1e-12, 1.0, "in (0, 1]"))

    def level(self, delta: float, arms: int) -> float:
        """log(K (K - 1) / delta): a union bound over ordered pairs, as the best arm so far may change."""
        return math.log(arms) + math.log(arms - 1) - math.log(delta)

    def _log_risk(self, score: float, arms: int) -> float:
        """Of K (K - 1) exp(-score)."""
        return math.log(arms) + math.log(arms - 1) - score

    def for_arms(self, arms: int) -> Self:
        """The same rule with the bet that it has for so many arms."""
        if self.bet is not None:
            return self
        return replace(type(self).for_trials(TYPICAL_TRIALS, 0.05, arms), spread=self.spread)

    @classmethod
    def for_trials(cls, trials: float, delta: float, arms: int, variance: float = 0.25) -> Self:
        """The rule that is tightest if the experiment takes about ``trials`` trials, in equal shares.

        Args:
            trials: The guess, for all arms together. The rule is proved however wrong it is.
            delta: The error probability of the experiment.
            arms: The number of arms.
            variance: A guess of the variance of a reward, over the squared length of its interval: for Bernoulli arms
                mean (1 - mean).

        Example:
            >>> round(DesignBased.for_trials(10_000, delta=0.05, arms=4, variance=0.1).bet, 4)
            0.0389
        """
        trials = number("trials", trials, 1.0, 1e300, "at least 1")
        count = number("arms", arms, 2.0, 1e300, "at least 2")
        variance = number("variance", variance, 1e-12, 0.25, "in (0, 1/4]")
        asked = math.log(count * (count - 1.0)) - math.log(confidence(delta)) + EXTRA
        return cls(_rounded(EARLY * math.sqrt(2.0 * asked / (trials * 2.0 * variance * count))), GUESSED)

    @classmethod
    def for_instance(cls, instance: Instance, delta: float = 0.05) -> Self:
        """The rule that is tightest for this instance, which may be a guess: means, family, variances and floors.

        Example:
            >>> import fairbai as fb
            >>> DesignBased.for_instance(fb.Instance([0.12, 0.10, 0.09], "bernoulli", floors=0.2), delta=0.05)
            DesignBased(bet=0.0368, spread=0.1)
        """
        confidence(delta)
        gap, noise = hardest_pair(instance)
        return cls(_rounded(EARLY * gap / noise), PLANNED) if gap > 0.0 else cls()

    # --- the grid -----------------------------------------------------------------------------------------------

    def grid(self, guarantees: Numbers) -> tuple[Array, Array]:
        """The sizes of the bets, rising, and their weights, for arms that are drawn with at least these probabilities.

        Bets on a pair of arms go up to the smaller of their guarantees; the weights of the others then count in
        proportion.
        """
        least = array("guarantees", guarantees)
        top = float(np.sort(least)[-2]) * kernels.EDGE  # no pair can use more
        chosen = self.for_arms(least.size).bet
        assert chosen is not None
        bet = min(chosen, top)
        below = math.log(bet / min(bet / SPAN, 0.5 * float(least.min())))
        above = math.log(min(top / bet, SPAN))
        down, up = (min(MAX_BETS // 2 - 1, math.ceil(part / STEP)) for part in (below, above))
        bets = np.minimum(bet * np.exp(STEP * np.arange(-down, up + 1.0)), top)
        weights = 1.0 / (1.0 + (np.log(bets / bet) / self.spread) ** 2)
        return bets, weights / weights.sum()


def hardest_pair(instance: Instance) -> tuple[float, float]:
    """Gap and noise σ²/π + σ²/π of the best arm and its hardest rival at the optimal shares, for rewards in [0, 1]."""
    family = instance.family
    if not isinstance(family, (Bernoulli, Bounded)):
        raise ValueError(f"design_based is proved for bernoulli and bounded arms, got {family.kind}")
    means, width, weights = instance.means, family.high - family.low, np.empty(instance.means.size)
    best = instance.acceptable[0]
    allocate(*instance.problem(best), instance.floors, 0.0, weights, new_workspace(means.size))
    spread = family.variances(means) if isinstance(family, Bounded) else means * (1.0 - means)
    inside, (stretch, shift) = instance.oriented.out_of_units(means), instance.ties
    gaps = inside[best] - (inside - shift) / stretch
    noise = spread / width**2 / np.maximum(weights, 1e-12)
    noise = noise / stretch**2 + noise[best]
    others = [arm for arm in range(gaps.size) if arm != best]
    rival = min(others, key=lambda arm: float(gaps[arm] ** 2 / noise[arm]))
    return float(gaps[rival]), float(noise[rival])


def _rounded(bet: float) -> float:
    """Few digits, because a guess has no more; at most 1."""
    return min(1.0, max(1e-12, float(f"{bet:.3g}")))
