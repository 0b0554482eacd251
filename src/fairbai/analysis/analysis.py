"""What a log says: the result of ``fb.analyze``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairbai.analysis.columns import Clock
from fairbai.analysis.drift import DriftCheck
from fairbai.analysis.drift_proof import DriftProof
from fairbai.analysis.evidence import Look, Reached
from fairbai.analysis.family import Choice
from fairbai.analysis.log import moment
from fairbai.analysis.ratio import RatioCheck
from fairbai.experiment.doubts import Doubt
from fairbai.problems import Gaussian
from fairbai.problems.checks import Array
from fairbai.problems.question import Question
from fairbai.stopping import Mixture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairbai.analysis.next_plan import NextPlan

Guarantee = Literal["proved", "observed", "doubted"]
LOPSIDED = 4.0  # times the trials of another arm, from which on skewed rewards mislead: docs/stopping.md


@dataclass(frozen=True, eq=False, repr=False)
class Arms:
    """The arms of a log, each with one entry.

    Attributes:
        labels: Their labels.
        trials: Their trials.
        means: Their mean rewards; nan for an arm without trials.
        variances: The variances of their rewards, as observed; nan if they are not known.
        intervals: An interval for the mean of each, one row per arm; all of them hold at all times.
    """

    labels: tuple[str | int, ...]
    trials: Array
    means: Array
    variances: Array
    intervals: Array


@dataclass(frozen=True, eq=False)
class Standing:
    """The evidence about the best arm, if every arm keeps its mean.

    Attributes:
        rules: The stopping rules whose evidence is averaged.
        level: The evidence that is needed, in nats.
        looks: The evidence as it grew; the last is at the end of the log.
        reached: When the evidence first sufficed, if somebody looked after every trial; None if it never did, or if the
            order of the trials is not known.
        named: The arm for which the evidence first sufficed; as long as it did for none, the leader at the end.
        confidence: How sure it is that the arm ``named`` is the best.
        candidates: The arms that are not excluded at the end, by their numbers.
    """

    rules: tuple[Mixture, ...]
    level: float
    looks: tuple[Look, ...]
    reached: Reached | None
    named: int
    confidence: float
    candidates: tuple[int, ...]

    @property
    def last(self) -> Look:
        """How things stand at the end of the log."""
        return self.looks[-1]

    @property
    def sufficed(self) -> bool:
        """Whether the evidence sufficed for the arm ``named``, at some time or at the end."""
        return self.reached is not None or self.last.score >= self.level

    @property
    def turned(self) -> bool:
        """Whether the evidence sufficed for an arm, and later against it."""
        against = any(look.leader != self.named and look.score >= self.level for look in self.looks)
        return self.sufficed and (against or self.named not in self.candidates)


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """What a log says about the best arm, and what speaks against trusting it; prints as a short report.

    Attributes:
        source: Where the log comes from.
        delta: The error probability.
        question: What the answer must be: the goal, the tolerance and the control.
        arms: Trials, means and intervals of the arms.
        choice: The family of the rewards, and why it is this one.
        standing: The evidence if every arm keeps its mean.
        drift_proof: The evidence whatever the drift; None without probabilities, or with rewards that are not bounded.
        sample_ratio: Whether arms were assigned as they should have been; None if that was not asked.
        drift: Whether means changed, as far as a plain test can see; None for totals.
        doubts: Rewards that contradict the family.
        hints: What would make the answer better.
        notes: What was noticed while the log was read.
        times: The times of all looks, if there are any.
        clock: Whether these are of the calendar ("iso") or numbers.
        when: The times of trials that something here refers to, by their number.
    """

    source: str
    delta: float
    question: Question
    arms: Arms
    choice: Choice
    standing: Standing
    drift_proof: DriftProof | None
    sample_ratio: RatioCheck | None
    drift: DriftCheck | None
    doubts: tuple[Doubt, ...]
    hints: tuple[str, ...]
    notes: tuple[str, ...]
    times: Array | None = None
    clock: Clock | None = None
    when: Mapping[int, float] = field(default_factory=dict)

    # --- the answer ---------------------------------------------------------------------------------------------

    @property
    def trials(self) -> int:
        """The trials of the log."""
        return int(self.arms.trials.sum())

    @property
    def leader(self) -> str | int:
        """The arm that leads at the end: that with the best mean or, if more evidence speaks for it, the control."""
        return self.arms.labels[self.standing.last.leader]

    @property
    def turned(self) -> bool:
        """Whether the evidence sufficed for an arm and later against it, of which only one can be right."""
        return self.question.exact and self.standing.turned

    @property
    def mismatched(self) -> bool:
        """Whether there is a sample-ratio mismatch."""
        return self.sample_ratio is not None and self.sample_ratio.mismatch

    @property
    def drifted(self) -> bool:
        """Whether a change of the means was observed."""
        return self.drift is not None and self.drift.drifted

    @property
    def lopsided(self) -> bool:
        """Whether trials are so unequal that evidence for normal rewards misleads if they are not, which nobody knows.

        The mean of a few skewed rewards most often lies on one side of the truth, so that an arm with few of them looks
        worse, or better, than it is. With as many trials for the other arm, the two errors are alike.
        """
        trials = self.arms.trials[self.arms.trials > 0.0]
        normal = self.choice.proved or not isinstance(self.choice.family, Gaussian)
        return not normal and bool(trials.max() > LOPSIDED * trials.min())

    @property
    def guarantee(self) -> Guarantee:
        """What holds of the confidence: it is "proved"; or only "observed"; or "doubted"."""
        if self.doubts or self.mismatched or self.drifted or self.lopsided or self.turned:
            return "doubted"
        return "proved" if self.choice.proved else "observed"

    @property
    def answer(self) -> str | int | None:
        """The arm for which the evidence first sufficed, at the log's delta; None if it did for none, or if doubted.

        At the end of the log another arm may lead (``leader``): that is no answer.
        """
        standing = self.standing
        return self.arms.labels[standing.named] if standing.sufficed and self.guarantee != "doubted" else None

    @property
    def decided(self) -> bool:
        """Whether the log decides: whether there is an ``answer``."""
        return self.answer is not None

    @property
    def decided_after(self) -> int | None:
        """After how many trials the evidence first sufficed for ``answer``; None without one, and for totals."""
        reached = self.standing.reached
        return None if reached is None or not self.decided else reached.trial

    @property
    def confidence(self) -> float | None:
        """How sure it is that ``answer`` or, without one, ``leader`` is right, whenever somebody stops.

        None if there is a doubt.
        """
        return None if self.guarantee == "doubted" else self.standing.confidence

    @property
    def candidates(self) -> tuple[str | int, ...] | None:
        """The arms that may still have the best mean, whatever the tolerance; None if there is a doubt."""
        if self.guarantee == "doubted":
            return None
        return tuple(self.arms.labels[arm] for arm in self.standing.candidates)

    @property
    def best_on_average(self) -> str | int | None:
        """The same by the averages over the log, whatever the drift; None without ``drift_proof``."""
        return None if self.drift_proof is None else self.arms.labels[self.drift_proof.looks[-1].leader]

    @property
    def drift_proof_confidence(self) -> float | None:
        """How sure that is; None without ``drift_proof``, or if arms were not drawn as the probabilities say."""
        return None if self.drift_proof is None or self.mismatched else self.drift_proof.last.confidence

    def time_of(self, trial: int) -> str | float | None:
        """When a trial was that something here refers to; the first trial is 1."""
        return moment(self.when[trial], self.clock) if trial in self.when else None

    def risk_at(self, look: Look) -> float:
        """The least delta at which the evidence of a look decides."""
        return self.standing.rules[0].risk(look.score, len(self.arms.labels))

    # --- how it is shown ----------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; docs/analysis.md describes the keys."""
        from fairbai.analysis.forms import as_dict

        return as_dict(self)

    def figure(self) -> "Figure":
        """Means, evidence, shares and drift as one Matplotlib figure; needs the extra ``report``."""
        from fairbai.charts.logs import figure

        return figure(self.to_dict())

    def save_html(self, path: str | Path) -> Path:
        """Write one self-contained HTML page; needs the extra ``report``. Returns its path."""
        from fairbai.analysis.page import page

        file = Path(path)
        file.write_text(page(self), encoding="utf-8")
        return file

    def plan(self, **question: Any) -> "NextPlan":
        """Plan the next experiment from what this log says; see ``fairbai.analysis.next_plan.plan_next``."""
        from fairbai.analysis.next_plan import plan_next

        return plan_next(self, **question)

    def __repr__(self) -> str:
        from fairbai.analysis.text import report

        return report(self)
