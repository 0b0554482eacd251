"""The rules and the seed of an experiment: what is used if none is named, and checks of what is."""

import secrets
from typing import Any

from fairbai.problems.checks import whole
from fairbai.problems.configured import Form
from fairbai.problems.families import Bounded as BoundedFamily
from fairbai.problems.families import Family
from fairbai.problems.rates import Bounded, Constant, Rate
from fairbai.sampling.fair_top_two import FairTopTwo
from fairbai.sampling.fair_track_and_stop import FairTrackAndStop
from fairbai.sampling.posterior_fair import PosteriorFair
from fairbai.sampling.rule import SamplingRule
from fairbai.stopping import DesignBased, LinearMixture, Mixture, StoppingRule

MAX_SEED = 2**63 - 1
DRAWN_SEEDS = 2**53  # which every reader of JSON keeps exactly


def stopping_of(stopping: StoppingRule | Form | None, family: Family) -> StoppingRule:
    """The stopping rule that is named, or the default."""
    return default_stopping(family) if stopping is None else StoppingRule.of(stopping)


def sampling_of(
    sampling: SamplingRule | Form | None, stopping: StoppingRule, rates: Rate, arms: int, family: Family
) -> SamplingRule:
    """The sampling rule that is named, or the default."""
    return default_sampling(stopping, rates, arms, family) if sampling is None else SamplingRule.of(sampling)


def default_stopping(family: Family) -> StoppingRule:
    """The stopping rule of an experiment that names none."""
    return LinearMixture() if family.structured else Mixture()


def default_sampling(stopping: StoppingRule, rates: Rate, arms: int, family: Family | None = None) -> SamplingRule:
    """The sampling rule of an experiment that names none."""
    if family is not None and family.structured:
        return FairTrackAndStop(tracking="cumulative", start="policy")
    if not isinstance(stopping, DesignBased):
        return FairTopTwo()
    if isinstance(rates, Bounded):
        return FairTrackAndStop(tracking="sampled", start="policy")
    if stopping.bet is None or not isinstance(rates, Constant):
        return PosteriorFair()
    return PosteriorFair.for_bet(stopping.bet, rates, arms)


def check_unit(family: Family, rates: Rate) -> None:
    """Refuse rates that depend on means in another unit than that of the kernels."""
    if (
        isinstance(family, BoundedFamily)
        and not isinstance(rates, Constant)
        and (family.low, family.high) != (0.0, 1.0)
    ):
        raise ValueError(
            f"rates that depend on the means need rewards from 0 to 1, got {family!r}: give constant floors, or divide "
            f"the rewards by their range"
        )


def drawn_seed() -> int:
    """A random seed: nothing that rewards depend on may know it, no other experiment on the same visitors either."""
    return secrets.randbelow(DRAWN_SEEDS)


def checked_seed(seed: Any) -> int:
    """``seed`` as an int that the random stream takes."""
    return whole("seed", seed, 0, MAX_SEED, "a whole number from 0 to 2**63 - 1")
