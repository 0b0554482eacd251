"""Doubts: what an experiment that is as declared cannot have produced, found by tests that hold at all times.

These are rewards that are not of the declared family, means that are not linear in their features, and arms that do not
come as often as they are drawn.
"""

import copy
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.compiling.entry import patiently
from fairbai.experiment.lack_of_fit import MAX_COLUMNS, log_evidence, residuals, worst_misfit
from fairbai.kernels import doubts as kernels
from fairbai.kernels import families
from fairbai.kernels.loop.replay import replay_tests
from fairbai.problems.checks import Array, array, number, true_or_false, whole
from fairbai.problems.factors import Factorial
from fairbai.problems.families import Family
from fairbai.problems.linear import Linear

if TYPE_CHECKING:
    from fairbai.experiment.sample_ratio import DrawnShares

LEVEL = 1e-3  # the probability of any doubt at all in an experiment that is as declared
RATIO_LEVEL = LEVEL / 2  # the part of it that the sample ratio has, where it is tested
FAMILY, FIT, RATIO = "family", "fit", "sample_ratio"  # kinds of doubts; fit: about the linear model
MAX_RATIO = 1e300  # so that JSON can hold it
NAMES = {families.GAUSSIAN: "Gaussian", families.POISSON: "Poisson", families.EXPONENTIAL: "exponential"}
ROUNDING = 1e-12  # of the sum of squares of a batch
MANY = 2_000  # rewards from which on it is worth waiting for the compiled kernel
MIN_BINARY = 20  # rewards that are all 0 or 1, before another family is suggested


@dataclass(frozen=True)
class Doubt:
    """A reason to think that the guarantee of the answer does not hold for these rewards.

    Attributes:
        kind: What is in doubt: "family", the declared reward family; "fit", that means are linear in the features; or
            "sample_ratio", that arms come as often as they are drawn.
        arm: The label of the arm that speaks against it most; None for all arms together.
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
    """A test that fired: of which arm (None: all), when, and the variance of its rewards over that of the family.

    Where the variance is unknown, it is the share of exact zeros instead (a small one, if rewards are skewed); for a
    lack of fit, what the arm earns beyond what its features say; for the sample ratio, the trials of the arm over those
    that it was drawn for.
    """

    arm: int | None
    trial: int
    ratio: float
    after_decision: bool
    kind: str = FAMILY

    @property
    def key(self) -> int | str | None:
        """Its name among all that an experiment can have."""
        return self.arm if self.kind == FAMILY else self.kind


class Doubts:
    """The tests of one experiment, one per arm and one of all arms together, and what they found.

    Args:
        family: The declared one.
        arms: Their number.
        level: The probability of any doubt about the family if it is right.
        ratio: The test of the sample ratio, where trials are drawn with known probabilities.

    Attributes:
        tests: What the tests know; ``kernels.doubts`` names the rows.
        ratio: The test of the sample ratio; None where there is none.
        found: The tests that fired, by arm (None: all arms; or the kind of a test of something else), oldest first.
        warned: Whether somebody has been told that there is a doubt.
    """

    def __init__(self, family: Family, arms: int, level: float = LEVEL, ratio: "DrawnShares | None" = None) -> None:
        self.family, self.ratio = family, ratio
        self._code = family.upright_code
        self.tests = np.zeros((kernels.rows_of_tests(self._code), arms + 1))
        self.found: dict[int | str | None, Finding] = {}
        self.warned = False
        self._scales = np.array(family.scales(arms))
        self._gaussian = self._code == families.GAUSSIAN
        self._unknown = self._code == families.GAUSSIAN_UNKNOWN
        self._linear = family if isinstance(family, Linear) else None
        if self._linear is not None:
            level /= 2.0  # the other half is for the test of the linear model
        self._fit_level = math.log(1.0 / level)
        self._levels = math.log(2 * arms / level), math.log(2 / level)  # half for the arms, half for all together

    @property
    def at_decision(self) -> bool:
        """Whether there was a doubt by the time of the decision, or, before the decision, whether there is one."""
        return any(not finding.after_decision for finding in self.found.values())

    def observe(self, arm: int, reward: float, trial: int, decided: bool) -> None:
        """Test a reward, after ``trial`` trials."""
        if self.tests.shape[0] == 0:
            return
        if self.family.mirrored:
            reward = -reward
        alone, together = kernels.update_test(self._code, self.tests, self._scales, arm, reward)
        self._note(arm, alone, together, trial, decided)

    def observe_batch(self, pulls: Array, sums: Array, squares: Array, trial: int, decided: bool) -> None:
        """Test a batch of Gaussian rewards of known variance, given the sums of their squares."""
        if not self._gaussian:
            return
        for arm in np.flatnonzero(pulls).tolist():
            count, total = float(pulls[arm]), float(sums[arm])
            before, mean = self.tests[: kernels.SQUARES, arm].tolist()
            change = (-total if self.family.mirrored else total) / count - mean
            within = max(0.0, squares[arm] * (1.0 - ROUNDING) - total * (total / count))  # at most what it is
            more = within + change * change * before * count / (before + count)
            other = 0.0 if squares[arm] == total else count  # the others are 0 or 1
            self.tests[:, arm] += count, change * count / (before + count), more, other
            limit, scale = kernels.MAX_SQUARES, self._scales[arm]
            self.tests[[kernels.COUNT, kernels.SQUARES], -1] += count, min(more / scale, limit)
            alone = kernels.gaussian_evidence(before + count, min(self.tests[kernels.SQUARES, arm] / scale, limit))
            together = kernels.gaussian_evidence(*self.tests[[kernels.COUNT, kernels.SQUARES], -1].tolist())
            self._note(arm, alone, together, trial, decided)

    def draw(self, arm: int, chance: float, trial: int) -> None:
        """Test a trial that was drawn with this probability, before the decision."""
        if self.ratio is not None:
            self.ratio.count(arm, chance)
            self._note_ratio(trial)

    def draw_batch(self, pulls: Array, chances: Array, trial: int) -> None:
        """Test trials that were all drawn with these probabilities, before the decision."""
        if self.ratio is not None:
            self.ratio.count_batch(pulls, chances)
            self._note_ratio(trial)

    def _note_ratio(self, trial: int) -> None:
        if self.ratio is not None and self.ratio.mismatch and RATIO not in self.found:
            arm = self.ratio.most_at_odds
            self.found[RATIO] = Finding(arm, trial, float(self.ratio.ratios[arm]), False, RATIO)

    def observe_rows(self, arms: Any, rewards: Any, decided_at: int | None = None) -> None:
        """Test many rewards, in order, one per trial from the first trial on; the decision was made after so many."""
        if self.tests.shape[0] == 0:
            return
        replay = patiently(replay_tests) if len(arms) > MANY else replay_tests
        start, levels, rewards = 0, np.array(self._levels), -rewards if self.family.mirrored else rewards
        while start < len(arms):
            fired = np.array([float(arm in self.found) for arm in (*range(self._scales.size), None)])
            rows = (arms[start:], rewards[start:])
            row, alone, together = replay(self._code, self.tests, self._scales, *rows, levels, fired)
            if row < 0:
                break
            start += int(row) + 1
            self._note(int(arms[start - 1]), alone, together, start, decided_at is not None and start > decided_at)

    @property
    def tests_fit(self) -> bool:
        """Whether the family says that means are linear in features, and nothing has contradicted it yet."""
        return self._linear is not None and FIT not in self.found

    def observe_fit(self, counts: Array, sums: Array, trial: int, decided: bool) -> None:
        """Test whether the means of the arms are linear in their features, given all rewards so far."""
        one = self._linear
        if one is None or not self.tests_fit:
            return
        interactions = one.missing(MAX_COLUMNS) if isinstance(one, Factorial) else ()
        if log_evidence(one.coordinates.T, one.variance, counts, sums, interactions) >= self._fit_level:
            arm, beyond = worst_misfit(one.coordinates.T, counts, sums)
            self.found[FIT] = Finding(arm, trial, -beyond if one.mirrored else beyond, decided, FIT)
        elif None not in self.found:
            self._test_residuals(one, counts, sums, trial, decided)

    def _test_residuals(self, one: Linear, counts: Array, sums: Array, trial: int, decided: bool) -> None:
        """The test of all arms together with distances from the best fit, which are larger than those within arms."""
        seen = counts > 0.0
        rest = residuals(one.coordinates.T[seen], sums[seen] / counts[seen], np.sqrt(counts[seen]))
        squares = float(self.tests[kernels.SQUARES, -1] + counts[seen] @ rest**2 / one.variance)
        if kernels.gaussian_evidence(counts.sum(), squares) >= self._levels[1]:
            ratio = min(squares / max(1.0, counts.sum() - one.dimension), MAX_RATIO)
            self.found[None] = Finding(None, trial, ratio, decided)

    def _note(self, arm: int, alone: float, together: float, trial: int, decided: bool) -> None:
        """Keep the tests that have fired now, for the first time."""
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
            doubts.append(Doubt(one.kind, arm, reason, one.trial, one.after_decision))
        return tuple(doubts)

    def hints(self, decided: bool) -> tuple[str, ...]:
        """What would suit the rewards better, and what could not be tested though there is a decision."""
        if self.tests.shape[0] == 0:
            return ()
        counts, needed = self.tests[kernels.COUNT, :-1], self._needed
        hints, normal = [], self._gaussian or self._unknown
        suits = self._linear is not None and self._linear.variance == 0.25  # the least that rewards of 0 and 1 need
        if normal and not suits and not self.tests[kernels.BESIDE].any() and self.tests[kernels.MEAN].any():
            hints += [self._binary_hint(counts.sum())] if counts.sum() >= MIN_BINARY else []
        few = int((counts < needed).sum())
        if decided and few:
            arms = f"{few} arm{'' if few == 1 else 's'} with fewer than {needed} rewards told one by one"
            hints.append(f"The declared family could not be tested on {arms}")
        return tuple(hints)

    def _binary_hint(self, count: float) -> str:
        """What would suit rewards better that are all 0 or 1."""
        covered = self._gaussian and self._scales.min() >= 0.25
        if self._linear is not None:
            better = "is enough for such rewards" if covered else "is the least for which the proof covers such rewards"
            return f"All {count:,.0f} rewards so far are 0 or 1: variance=0.25 {better}"
        better = "would need fewer trials" if covered else "is made for such rewards"
        return f"All {count:,.0f} rewards so far are 0 or 1: family='bernoulli' {better}"

    @property
    def _needed(self) -> int:
        """The rewards of an arm that its test needs."""
        if self._unknown:
            return int(kernels.MIN_REWARDS)
        return 2 if self._gaussian else kernels.FIRST + 1

    def _ratio(self, arms: Iterable[int]) -> float:
        """The variance of the rewards of some arms, within each, over that of their family at their means."""
        if self._unknown:
            return max(float(self.tests[kernels.ZEROS, arm] / self.tests[kernels.COUNT, arm]) for arm in arms)
        found = expected = 0.0
        for arm in arms:
            count, mean, squares = self.tests[: kernels.BESIDE, arm].tolist()
            variance = float(families.variance(self._code, mean, self._scales[arm]))
            found += squares
            expected += max(0.0, count - 1.0) * variance
        return min(found / expected, MAX_RATIO) if expected > 0.0 else 1.0

    def _reason(self, finding: Finding, arm: str) -> str:
        if finding.kind == FIT:
            what = f"{arm} earns {abs(finding.ratio):.3g} {'more' if finding.ratio > 0.0 else 'less'} than"
            if isinstance(self._linear, Factorial):
                return f"{what} the effects of its levels add up to: an interaction is missing from the model"
            return f"{what} its features say: the means are not linear in the features"
        if finding.kind == RATIO:
            return f"Arm {arm} has {finding.ratio:.2f} times the trials that it should have by its probabilities"
        if self._unknown:
            what = f"are exactly 0 in {100.0 * finding.ratio:.0f} % of the trials, but Gaussian rewards never repeat"
            if finding.ratio < kernels.MIN_ZEROS:
                what = "are skewed, unlike Gaussian ones"
            instead = "with bounds that no reward can leave, Bounded(low, high) is proved"
            return f"Rewards of {arm} {what}: the answer is approximate; {instead}"
        law = f"{NAMES.get(self._code, self.family.kind)} rewards"
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
        one.ratio = None if self.ratio is None else self.ratio.copied()
        return one

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON."""
        form = {"tests": self.tests.tolist(), "found": [_form(finding) for finding in self.found.values()]}
        return form if self.ratio is None else {**form, "ratio": self.ratio.to_dict()}

    def restore(self, form: dict[str, Any]) -> None:
        """Go on from what ``to_dict`` gave."""
        rows, columns = self.tests.shape
        if len(form["tests"]) != rows:
            raise ValueError(f"doubts must hold {rows} rows of tests, got {len(form['tests'])}")
        for row in range(rows):
            self.tests[row] = array("tests", form["tests"][row], columns)
        found = [_finding(one, columns - 1) for one in form["found"]]
        self.found = {one.key: one for one in found}
        if self.ratio is not None and "ratio" in form:  # snapshots of earlier versions have none: it starts afresh
            self.ratio.restore(form["ratio"])
        self.warned = bool(self.found)


def _form(finding: Finding) -> dict[str, Any]:
    """As JSON; the kind is left out where it is that of earlier versions."""
    form = asdict(finding)
    return form if finding.kind != FAMILY else {name: form[name] for name in form if name != "kind"}


def _finding(form: dict[str, Any], arms: int) -> Finding:
    arm = None if form["arm"] is None else whole("arm", form["arm"], 0, arms - 1)
    trial = whole("trial", form["trial"], 0)
    kind = form.get("kind", FAMILY)
    if kind not in (FAMILY, FIT, RATIO):
        raise ValueError(f"kind must be {FAMILY}, {FIT} or {RATIO}, got {kind!r}")
    least, wanted = (-MAX_RATIO, "finite") if kind == FIT else (0.0, "at least 0")
    ratio = number("ratio", form["ratio"], least, MAX_RATIO, wanted)
    return Finding(arm, trial, ratio, true_or_false("after_decision", form["after_decision"]), kind)
