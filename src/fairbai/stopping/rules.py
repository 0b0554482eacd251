"""Stopping rules: thresholds for the generalised likelihood ratio (GLR) of the best arm against every other.

All of them stop when min_a (factor_a GLR_a - penalty_a) >= level; the scores are in ``kernels.stopping``, the level,
which contains delta, is here. A *proved* rule recommends a wrong arm with probability at most delta under the
conditions of its ``Proof``.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.kernels.stopping import scores as kernels
from fairbai.problems.checks import confidence, number, whole
from fairbai.problems.configured import Configured
from fairbai.problems.families import Bernoulli, Bounded, Exponential, Family, Gaussian, Poisson

MAX_ALPHA = 1.0 - 1e-9
STEPS = 80  # of a bisection over the logarithm of delta


@dataclass(frozen=True)
class Proof:
    """The conditions under which a rule errs with probability at most delta; the proofs are in docs/stopping.md.

    Attributes:
        families: The reward families it covers. Every other family is refused.
        sampling: What it asks of the sampling rule.
        delays: What it asks of rewards that arrive late, out of order, or never.
        drift: What it asks of rewards whose law changes in the course of the experiment.
        unknown_variances: Whether it covers Gaussian arms of unknown variance, too.
    """

    families: tuple[type[Family], ...]
    sampling: str = (
        "any rule, as long as it chooses by the rewards told so far and by chance that is independent of all that "
        "rewards depend on, other experiments on the same visitors included"
    )
    delays: str = (
        "any, as long as, given everything told so far, which reward is told next is independent of all rewards "
        "that have not been told"
    )
    drift: str = "none: the rewards of an arm keep their mean"
    unknown_variances: bool = False

    def covers(self, family: Family) -> bool:
        """Whether the proof holds for this family, or for the one it is derived from.

        A subclass that only transforms rewards before they are added up is covered: what it adds up has the law of its
        base. One with a kernel of its own is another family.
        """
        code, unknown = family.upright_code, self.unknown_variances and family.code == GAUSSIAN_UNKNOWN
        return any(isinstance(family, kind) and (unknown or code == kind.code) for kind in self.families)


@dataclass(frozen=True, eq=False)
class StoppingRule(Configured):
    """A threshold for the GLR.

    Attributes:
        proof: The conditions of its proof; None for a rule that is not proved, which takes every family.
        drift_proof: Whether it is proved for rewards whose law changes in the course of the experiment. Such a rule
            needs arms that are drawn with known probabilities.
        estimand: What the arms are compared by.
        code: Its number in ``kernels.stopping``.
    """

    argument: ClassVar[str] = "stopping"
    proof: ClassVar[Proof | None]
    drift_proof: ClassVar[bool] = False
    estimand: ClassVar[str] = "the mean of each arm"
    code: ClassVar[int]

    @abstractmethod
    def level(self, delta: float, arms: int) -> float:
        """What the least score must reach."""

    def risk(self, score: float, arms: int) -> float:
        """The least delta at which this score would stop, or 1: 1 - risk is how sure the named arm is.

        With probability at least 1 - u, no arm that is named with a risk of at most u is wrong, at any time; see
        docs/stopping.md. The scores of a rule that is not proved have no risk: a ValueError.

        Example:
            >>> round(Mixture().risk(4.5, arms=10), 4)
            0.1
        """
        if self.proof is None:
            raise ValueError(f"stopping must be a proved rule to have a risk, got {self.kind}")
        if not score > -math.inf:
            return 1.0
        return math.exp(min(0.0, self._log_risk(score, arms))) if score < math.inf else 0.0

    def _log_risk(self, score: float, arms: int) -> float:
        """The logarithm of the delta whose level is ``score``; by bisection, for rules that know no formula."""
        low, high = math.log(math.ulp(0.0)), 0.0
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            if self.level(math.exp(middle), arms) <= score:
                high = middle
            else:
                low = middle
        return high

    def parameters(self, arms: int) -> tuple[float, float, float, float]:
        """What its kernel takes, in the order of ``kernels.config``, if there are so many arms."""
        return 1.0, 1.0, 0.0, 0.0

    def for_arms(self, arms: int) -> Self:
        """The same rule with every parameter a number, where defaults depend on the number of arms."""
        return self

    def proved(self, family: Family) -> bool:
        """Whether an error probability of at most delta is proved for this family."""
        return self.proof is not None and self.proof.covers(family)

    def check(self, family: Family) -> None:
        """Refuse a family that the proof does not cover."""
        if self.proof is not None and not self.proof.covers(family):
            covered = ", ".join(kind.kind for kind in self.proof.families)
            instead = "Mixture(), or Heuristic()" if Mixture().proved(family) else "Heuristic()"
            given = f"{family.kind} of unknown variance" if family.code == GAUSSIAN_UNKNOWN else family.kind
            raise ValueError(
                f"stopping rule {self.kind} is proved for {covered} arms, got {given}: "
                f"use {instead} if no proof is needed"
            )


@dataclass(frozen=True, eq=False)
class Heuristic(StoppingRule):
    """log((1 + log t) / delta): the threshold of the paper's tables. NOT proved.

    It errs less often than delta on most instances, but its error tends to 1/2 as the gap tends to 0. Accepted for
    every family.

    Example:
        >>> round(Heuristic().level(0.1, arms=10), 4)
        2.3026
    """

    proof: ClassVar[Proof | None] = None
    code: ClassVar[int] = kernels.HEURISTIC

    def level(self, delta: float, arms: int) -> float:
        """log(1 / delta)."""
        return -math.log(delta)


@dataclass(frozen=True, eq=False)
class ChanceToWin(StoppingRule):
    """Stops when the best arm is the best with a posterior probability of at least ``chance``. NOT proved.

    It is what many products call "chance to win" or "probability to be best", here with normal posteriors around the
    sample means. Whoever looks after every trial will be wrong far more often than 1 - ``chance``; delta is ignored. It
    is here for comparison only, and accepted for every family.

    Args:
        chance: What the probability must reach, in (1/2, 1).
        minimum: How many rewards every arm must have before.

    Example:
        >>> round(ChanceToWin(0.95).level(0.1, arms=10), 4)
        2.9957
    """

    chance: float = 0.95
    minimum: int = 100
    proof: ClassVar[Proof | None] = None
    code: ClassVar[int] = kernels.CHANCE_TO_WIN

    def __post_init__(self) -> None:
        chance = number("chance", self.chance, math.nextafter(0.5, 1.0), math.nextafter(1.0, 0.0), "in (1/2, 1)")
        self._set(chance=chance, minimum=whole("minimum", self.minimum, 1))

    def parameters(self, arms: int) -> tuple[float, float, float, float]:
        """The rewards that every arm must have."""
        return float(self.minimum), 1.0, 0.0, 0.0

    def level(self, delta: float, arms: int) -> float:
        """-log(1 - chance), whatever delta is."""
        return -math.log1p(-self.chance)


@dataclass(frozen=True, eq=False)
class _Mixture(StoppingRule):
    """What the two mixtures have in common."""

    kappa: float = 5.0
    prior_mean: float = 1.0
    proof: ClassVar[Proof] = Proof((Gaussian, Bernoulli, Poisson, Exponential, Bounded), unknown_variances=True)

    def __post_init__(self) -> None:
        kappa = number("kappa", self.kappa, 1e-300, 1e300, "positive")
        prior_mean = number("prior_mean", self.prior_mean, 1e-250, 1e250, "positive")
        self._set(kappa=kappa, prior_mean=prior_mean)

    def parameters(self, arms: int) -> tuple[float, float, float, float]:
        """Kappa and the prior mean."""
        return self.kappa, self.prior_mean, 0.0, 0.0

    def level(self, delta: float, arms: int) -> float:
        """log((K - 1) / delta): a union bound over the arms that could be mistaken for the best."""
        return math.log(arms - 1) - math.log(delta)

    def _log_risk(self, score: float, arms: int) -> float:
        """Of (K - 1) exp(-score)."""
        return math.log(arms - 1) - score


@dataclass(frozen=True, eq=False)
class Mixture(_Mixture):
    """One-sided mixture martingales; proved, by Ville's inequality, and usually the tightest rule here.

    Stops when, for every other arm a, every hypothesis under which a is as good as b, the arm that looks best, is
    rejected: at each common mean, the product of two martingales, one against b being so bad and one against a being so
    good, exceeds (K-1)/δ. Each is a mixture over tilts of the reward distribution in one direction only; to the one of
    b, times 1-α, the constant α(K-1) is added. The parameters must be fixed before the experiment; a poor choice costs
    trials but does not invalidate the proof.

    Args:
        kappa: About a sixth of the trials that an arm will have at the stop; ``for_trials`` finds it from a guess.
        prior_mean: For Poisson and exponential arms, a guess of the size of the means.
        alpha: The share of the proof that is spent on the best arm alone, in [0, 1). It helps where the arm that is
            named has many more trials than the others. By default 0 for two arms, else
            min(0.2, (1 + log10(K - 2)) / 20): never 1 % worse than 0, and much better for many arms.

    Example:
        >>> round(Mixture(kappa=5.0).level(0.1, arms=11), 4)
        4.6052
        >>> Mixture().for_arms(12)
        Mixture(kappa=5.0, prior_mean=1.0, alpha=0.1)
    """

    alpha: float | None = None
    code: ClassVar[int] = kernels.MIXTURE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None:
            self._set(alpha=number("alpha", self.alpha, 0.0, MAX_ALPHA, "in [0, 1)"))

    def parameters(self, arms: int) -> tuple[float, float, float, float]:
        """Kappa, the prior mean, α, and α (K - 1)."""
        alpha = default_alpha(arms) if self.alpha is None else self.alpha
        return self.kappa, self.prior_mean, alpha, alpha * (arms - 1)

    def for_arms(self, arms: int) -> Self:
        """The same rule with the alpha that it has for so many arms."""
        return replace(self, alpha=self.parameters(arms)[2])

    @classmethod
    def for_trials(
        cls, trials: float, delta: float, arms: int, prior_mean: float = 1.0, variance: float = 0.25
    ) -> Self:
        """The mixture that is tightest if the experiment takes about ``trials`` trials, in equal shares.

        Args:
            trials: The guess, for all arms together. The rule is proved however wrong it is; a guess that is
                wrong by a factor of ten costs about 10 to 30 % more trials than the right one.
            delta: The error probability of the experiment.
            arms: The number of arms.
            prior_mean: A guess of the size of the means, for Poisson and exponential arms.
            variance: For Bernoulli and bounded arms, a guess of the variance of a reward, over the squared length of
                its interval: for Bernoulli arms mean (1 - mean). Rates of 1 or 2 % take about half as many trials
                again if it is left at 1/4.

        Example:
            >>> round(Mixture.for_trials(1000, delta=0.1, arms=10).kappa, 3)
            15.385
            >>> round(Mixture.for_trials(1000, delta=0.1, arms=10, variance=0.02).kappa, 3)
            1.231
        """
        trials = number("trials", trials, 1.0, 1e300, "at least 1")
        count = number("arms", arms, 2.0, 1e300, "at least 2")
        known = number("variance", variance, 1e-12, 0.25, "in (0, 1/4]")
        asked = math.log(count - 1.0) - math.log(confidence(delta))
        return cls(known / 0.25 * trials / count / (asked + 2.0), prior_mean)


def default_alpha(arms: int) -> float:
    """The α of ``Mixture`` for so many arms; docs/stopping.md explains the choice."""
    return 0.0 if arms == 2 else min(0.2, (1.0 + math.log10(arms - 2)) / 20.0)


@dataclass(frozen=True, eq=False)
class TwoSidedMixture(_Mixture):
    """Mixture martingales in both directions; proved, and a closed formula, at the cost of more trials.

    Gaussian arms: stops when, for every other arm a, Δ² / (2 Σ_i σ_i² (1/N_i + κ/N_i²)) exceeds
    log((K-1)/δ) + ½ log(1 + N_a/κ) + ½ log(1 + N_b/κ). The other families: when the GLR of every pair exceeds
    log((K-1)/δ) and the regret of either arm, which is its log-likelihood at its own mean less that of a mixture over a
    fixed prior, about ½ log N. ``Mixture`` contains this rule, with a weight of 1/20.

    Args:
        kappa: For Gaussian arms; the rule is tightest for arms with about five times as many trials.
        prior_mean: For Poisson and exponential arms, a guess of the size of the means.
    """

    code: ClassVar[int] = kernels.TWO_SIDED_MIXTURE
