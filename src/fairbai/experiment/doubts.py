"""Doubts: rewards that the declared family cannot have produced, found by tests that hold at all times."""

import copy
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairbai.kernels import doubts as kernels
from fairbai.kernels import families
from fairbai.problems.checks import array, number, true_or_false, whole
from fairbai.problems.families import Family

LEVEL = 1e-3  # the probability of any doubt at all in an experiment whose family is right
MAX_RATIO = 1e300  # so that JSON can hold it
NAMES = {families.GAUSSIAN: "Gaussian", families.POISSON: "Poisson", families.EXPONENTIAL: "exponential"}
MIN_BINARY = 20  # rewards that are all 0 or 1, before another family is suggested


@dataclass(frozen=True)
class Doubt:
    """A reason to think that the guarantee of the answer does not hold for these rewards.

    Attributes:
        kind: What is in doubt: "family", the declared reward family.
        arm: The label of the arm whose rewards contradict it; None for those of all arms together.
        reason: In words, with figures.
        trial: How many trials had been assigned when it was found.
        after_decision: Whether the decision had been made before; it then stays proved, and the doubt stands beside it.
    """

    kind: str
    arm: Hashable | None
    reason: str
    trial: int
    after_decision: bool


@dataclass(frozen=True)
class Finding:
    """A test that fired: of which arm (None: all), when, and the variance of its rewards over that of the family."""

    arm: int | None
    trial: int
    ratio: float
    after_decision: bool


class Doubts:
    """The tests of one experiment, one per arm and one of all arms together, and what they found.

    Args:
        family: The declared one.
        arms: Their number.

    Attributes:
        tests: What the tests know; ``kernels.doubts`` names the rows.
        found: The tests that fired, by arm (None: all arms), oldest first.
        warned: Whether somebody has been told that there is a doubt.
    """

    def __init__(self, family: Family, arms: int) -> None:
        self.family = family
        self.tests = np.zeros((kernels.rows_of_tests(family.code), arms + 1))
        self.found: dict[int | None, Finding] = {}
        self.warned = False
        self._scales = np.array(family.scales(arms))
        self._gaussian = family.code == families.GAUSSIAN
        self._levels = math.log(2 * arms / LEVEL), math.log(2 / LEVEL)  # half for the arms, half for all together

    @property
    def at_decision(self) -> bool:
        """Whether there was a doubt by the time of the decision, or, before the decision, whether there is one."""
        return any(not finding.after_decision for finding in self.found.values())

    def observe(self, arm: int, reward: float, trial: int, decided: bool) -> None:
        """Test a reward, after ``trial`` trials."""
        if self.tests.shape[0] == 0:
            return
        alone, together = kernels.update_test(self.family.code, self.tests, self._scales, arm, reward)
        if alone >= self._levels[0] and arm not in self.found:
            self.found[arm] = Finding(arm, trial, self._ratio([arm]), decided)
        if together >= self._levels[1] and None not in self.found:
            self.found[None] = Finding(None, trial, self._ratio(range(self._scales.size)), decided)

    def listed(self, labels: Sequence[Hashable], quote: Callable[[Any], str] = repr) -> tuple[Doubt, ...]:
        """All doubts, oldest first; ``quote`` is how sentences name an arm."""
        doubts = []
        for one in self.found.values():
            arm = None if one.arm is None else labels[one.arm]
            reason = self._reason(one, "all arms together" if one.arm is None else quote(arm))
            doubts.append(Doubt("family", arm, reason, one.trial, one.after_decision))
        return tuple(doubts)

    def hints(self, decided: bool) -> tuple[str, ...]:
        """What would suit the rewards better, and what could not be tested though there is a decision."""
        if self.tests.shape[0] == 0:
            return ()
        counts, needed = self.tests[kernels.COUNT, :-1], 2 if self._gaussian else kernels.FIRST + 1
        hints = []
        if self._gaussian and not self.tests[kernels.BESIDE].any() and self.tests[kernels.MEAN].any():
            better = "would need fewer trials" if self._scales.min() >= 0.25 else "is made for such rewards"
            binary = f"All {counts.sum():,.0f} rewards so far are 0 or 1: family='bernoulli' {better}"
            hints += [binary] if counts.sum() >= MIN_BINARY else []
        few = int((counts < needed).sum())
        if decided and few:
            arms = f"{few} arm{'' if few == 1 else 's'} with fewer than {needed} rewards told one by one"
            hints.append(f"The declared family could not be tested on {arms}")
        return tuple(hints)

    def _ratio(self, arms: Iterable[int]) -> float:
        """The variance of the rewards of some arms, within each, over that of their family at their means."""
        found = expected = 0.0
        for arm in arms:
            count, mean, squares = self.tests[: kernels.BESIDE, arm].tolist()
            variance = float(families.variance(self.family.code, mean, self._scales[arm]))
            found += squares
            expected += max(0.0, count - 1.0) * variance
        return min(found / expected, MAX_RATIO) if expected > 0.0 else 1.0

    def _reason(self, finding: Finding, arm: str) -> str:
        law = f"{NAMES.get(self.family.code, self.family.kind)} rewards"
        if self._gaussian:
            scales = self._scales if finding.arm is None else self._scales[[finding.arm]]
            same = scales.min() == scales.max()
            law += f" of variance {scales[0]:g}" if same else " of the declared variances"
        if finding.ratio < 1.1:
            return f"Rewards of {arm} have heavier tails than {law}"
        times = f"{finding.ratio:,.1f}" if finding.ratio < 100.0 else f"{finding.ratio:,.0f}"
        law += "" if self._gaussian else " with their mean"
        return f"Rewards of {arm} have {times} times the variance of {law}"

    # --- keeping ------------------------------------------------------------------------------------------------

    def copied(self) -> "Doubts":
        """A copy, to return to."""
        one = copy.copy(self)
        one.tests, one.found = self.tests.copy(), dict(self.found)
        return one

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {"tests": self.tests.tolist(), "found": [asdict(finding) for finding in self.found.values()]}

    def restore(self, form: dict[str, Any]) -> None:
        """Go on from what ``to_dict`` gave."""
        rows, columns = self.tests.shape
        if len(form["tests"]) != rows:
            raise ValueError(f"doubts must hold {rows} rows of tests, got {len(form['tests'])}")
        for row in range(rows):
            self.tests[row] = array("tests", form["tests"][row], columns)
        self.found = {one["arm"]: _finding(one, columns - 1) for one in form["found"]}
        self.warned = bool(self.found)


def _finding(form: dict[str, Any], arms: int) -> Finding:
    arm = None if form["arm"] is None else whole("arm", form["arm"], 0, arms - 1)
    trial = whole("trial", form["trial"], 0)
    ratio = number("ratio", form["ratio"], 0.0, MAX_RATIO, "at least 0")
    return Finding(arm, trial, ratio, true_or_false("after_decision", form["after_decision"]))
