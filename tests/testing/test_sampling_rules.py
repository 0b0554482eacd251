"""The conformance suite: every rule of ours passes it, and so do good rules of others; broken ones are caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fairbai.problems.rates import Constant
from fairbai.sampling import (
    Bounds,
    FairTopTwo,
    SamplingRule,
    Situation,
)
from fairbai.testing import check_sampling_rule
from tests.cases import SAMPLING_RULES


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("rule", SAMPLING_RULES, ids=lambda rule: str(rule.to_dict()))
def test_our_rules_keep_their_promises(rule: SamplingRule) -> None:
    check_sampling_rule(rule)


@pytest.mark.slow_without_jit
def test_rates_that_a_rule_refuses_are_left_out() -> None:
    with pytest.raises(ValueError, match="needs floors"):
        FairTopTwo(earning=1.0).check(Constant(0.0))
    check_sampling_rule(FairTopTwo(earning=1.0))


@dataclass(frozen=True, eq=False)
class Quota(SamplingRule):
    """A rule of somebody else: the arm furthest behind its floor and an equal part of the rest."""

    fairness = "every path"
    converges_to = "none"

    def choose(self, situation: Situation) -> int:
        counts, floors = situation.assigned, situation.floors
        share = floors + (1.0 - floors.sum()) / floors.size
        return int(np.argmax(share * (counts.sum() + 1.0) - counts))


@dataclass(frozen=True, eq=False)
class Lottery(Quota):
    """The same by lot, with the random number that a rule is given."""

    fairness = "on average"
    random = True

    def choose(self, situation: Situation) -> int:
        floors = situation.floors
        share = floors + (1.0 - floors.sum()) / floors.size
        return min(int(np.searchsorted(np.cumsum(share), situation.uniform)), floors.size - 1)


@pytest.mark.parametrize("rule", [Quota(), Lottery()], ids=lambda rule: rule.kind)
def test_a_users_own_rule_passes(rule: SamplingRule) -> None:
    check_sampling_rule(rule, trials=400, runs=4)


@dataclass(frozen=True, eq=False)
class Illegal(Quota):
    """Names an arm that is not there."""

    def choose(self, situation: Situation) -> int:
        return situation.assigned.size if situation.assigned.sum() > 50 else super().choose(situation)


@dataclass(frozen=True, eq=False)
class Half(Quota):
    """Names half an arm."""

    def choose(self, situation: Situation) -> int:
        return 0.5  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Blind(Quota):
    """Never sees the last arm."""

    def choose(self, situation: Situation) -> int:
        return int(situation.assigned[:-1].argmin())


@dataclass(frozen=True, eq=False)
class Fickle(Quota):
    """Gives up an arm after a while, though it promises to go on."""

    fairness = "on average"

    def choose(self, situation: Situation) -> int:
        counts = situation.assigned
        return int(counts.argmin()) if counts.sum() < 100 else int(counts[:-1].argmin())


@dataclass(frozen=True, eq=False)
class Unfair(Quota):
    """Promises every floor on every path and shares equally."""

    def choose(self, situation: Situation) -> int:
        return int(situation.assigned.argmin())


@dataclass(frozen=True, eq=False)
class UnfairOnAverage(Unfair):
    """Promises every floor on average, and pulls arm 0 nine times out of ten."""

    fairness = "on average"

    def choose(self, situation: Situation) -> int:
        return 0 if situation.assigned.sum() % 10 else int(situation.assigned.argmin())


@dataclass(frozen=True, eq=False)
class Crowded(Quota):
    """Promises much about ceilings of groups, and knows nothing of them."""

    def bounds(self, rates: Constant, arms: int) -> Bounds:
        groups = [1e9] * len(getattr(rates, "groups", ()))
        return Bounds([float(arms)] * arms, [1e9] * arms, groups, [0.0 for _ in groups])


@dataclass(frozen=True, eq=False)
class Lost(Quota):
    """Promises the fair optimum and shares equally."""

    converges_to = "fair"


@dataclass(frozen=True, eq=False)
class Moody(Quota):
    """Draws from a generator of its own."""

    fairness = "on average"

    def choose(self, situation: Situation) -> int:
        return int(np.random.default_rng().integers(situation.assigned.size))


@dataclass(frozen=True, eq=False)
class Silent(SamplingRule):
    """Does not say what it promises."""

    converges_to = "none"


@dataclass(frozen=True, eq=False)
class Vague(Quota):
    """Promises something that is not known."""

    fairness = "mostly"  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class SecretLottery(Lottery):
    """Draws, and denies it."""

    random = False


@dataclass(frozen=True, eq=False)
class Rigid(Quota):
    """Claims to draw, and does not."""

    random = True


@dataclass(frozen=True, eq=False)
class Contradictory(Quota):
    """Promises every path, but no bound."""

    def bounds(self, rates: Constant, arms: int) -> Bounds | None:
        return None


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (Illegal(), ValueError, "illegal must choose an arm from 0 to 3, got 4"),
        (Half(), ValueError, "half must choose an arm from 0 to 3, got 0.5"),
        (Blind(), AssertionError, "blind on gaussian arms with .*: arm 3 is never pulled"),
        (Fickle(), AssertionError, "fickle on gaussian arms with .*: arm 3 is not pulled any more after trial 200"),
        (Unfair(), AssertionError, "unfair on gaussian arms with .*: arm 3 lacks .* trials of its floor"),
        (UnfairOnAverage(), AssertionError, "unfair_on_average: an arm lacks .* trials of its floor on average"),
        (
            Crowded(),
            AssertionError,
            "crowded within .*, with noisy rewards: a group above its ceiling by .* trials more",
        ),
        (Lost(), AssertionError, r"lost on gaussian arms with .*: shares \[.*\] are not near \[.*\]"),
        (Silent(), AssertionError, "Silent.fairness must be one of 'every path', 'on average', 'none', got nothing"),
        (Vague(), AssertionError, "Vague.fairness must be one of .*, got 'mostly'"),
        (Quota, AssertionError, "rule must be an instance of a SamplingRule, got <class"),
        (SecretLottery(), AssertionError, "secret_lottery: random is False, but another seed gives other arms"),
        (Rigid(), AssertionError, "rigid: random is True, but another seed gives the same arms"),
        (Contradictory(), AssertionError, "contradictory on .*: bounds and fairness disagree"),
        (Moody(), AssertionError, "moody: the same seed gives other arms"),
    ],
    ids=lambda value: value.kind if isinstance(value, SamplingRule) else None,
)
def test_broken_rules_are_caught(rule: SamplingRule, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check_sampling_rule(rule, trials=400, runs=4)
