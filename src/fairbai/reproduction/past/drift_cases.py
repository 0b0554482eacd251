"""Arms and drifts to try stopping rules on, and instances without drift."""

from dataclasses import dataclass

import numpy as np

from fairbai.problems import Bernoulli, Instance
from fairbai.problems.checks import Array
from fairbai.problems.drifts import Custom, Drift, Novelty, Ramp, Seasonal, Steps

TRIALS = 4_000  # of a run that finds no answer


@dataclass(frozen=True, eq=False)
class Arms:
    """Bernoulli arms: how much better than a common level each of them is, and their floor."""

    above: Array
    floor: float

    def at(self, level: float) -> Instance:
        """The instance with this level."""
        return Instance(level + self.above, Bernoulli(), floors=self.floor)


@dataclass(frozen=True, eq=False)
class Case:
    """What happens to the arms in a run of so many trials.

    Attributes:
        arms: The name of the arms.
        name: That of the drift.
        instance: The means at the start.
        drift: How they change.
        trials: When a run is given up.
        any_answer: Whether every answer is wrong: all arms are the same, and an adversary who sees the evidence makes
            the arm that is about to be named worse by a hair.
    """

    arms: str
    name: str
    instance: Instance
    drift: Drift
    trials: int = TRIALS
    any_answer: bool = False


ARMS: dict[str, Arms] = {
    "two, gap 0.005": Arms(np.array([0.005, 0.0]), 0.2),
    "four, gap 0.06": Arms(np.array([0.06, 0.0, 0.0, 0.0]), 0.1),
    "five, gap 0.02": Arms(np.array([0.02, 0.0, 0.0, 0.0, 0.0]), 0.1),
}
EQUAL = {"two, equal": Arms(np.zeros(2), 0.2)}


def common_drifts(arms: Arms) -> dict[str, tuple[Instance, Drift]]:
    """The level changes; the same arm is the best at every moment, by the same difference."""
    times, fast = np.arange(1, 14), np.arange(1, 80)
    saw = np.linspace(0.05, 0.75, 1_000)[:, None] + arms.above
    return {
        "ramp up": (arms.at(0.05), Ramp(0.7, 3_000)),
        "ramp down": (arms.at(0.75), Ramp(-0.7, 3_000)),
        "season, period 100": (arms.at(0.4), Seasonal(0.35, 100, phase=0.75)),
        "season, period 1,000": (arms.at(0.4), Seasonal(0.35, 1_000, phase=0.75)),
        "season, period 10,000": (arms.at(0.4), Seasonal(0.35, 10_000, phase=0.75)),
        "steps every 300": (arms.at(0.1), Steps(300 * times, 0.6 * (times % 2))),
        "steps every 50": (arms.at(0.1), Steps(50 * fast, 0.6 * (fast % 2))),
        "novelty of all arms": (arms.at(0.1), Novelty(0.6, 500)),
        "sawtooth, period 1,000": (arms.at(0.05), Custom(saw, repeat=True)),
    }


def uncommon_drifts(arms: Arms) -> dict[str, tuple[Instance, Drift]]:
    """Differences that change, too, against a rule that believes what it saw."""
    middle, count = arms.at(0.4), arms.above.size
    first, second = np.eye(count)[0], np.eye(count)[1]
    alternating = middle.means + 0.2 * np.array([first - second, second - first])
    return {
        "novelty of a worse arm": (middle, Novelty(0.2 * second, 300)),
        "lead that swings": (middle, Seasonal(0.15 * (first - second), 1_000, phase=0.5)),
        "lead that alternates": (middle, Custom(alternating, repeat=True)),
        "worse arm first": (middle, Custom(_worse_first(arms, np.full(TRIALS, 0.4), 200))),
        "worse arm first, ramp up": (arms.at(0.05), Custom(_worse_first(arms, np.linspace(0.05, 0.6, TRIALS), 1_000))),
    }


def _worse_first(arms: Arms, level: Array, trials: int) -> Array:
    """A worse arm is ahead; then the best makes up for it in as many trials, and is ahead by a hair from then on."""
    means = np.tile(level[:, None], (1, arms.above.size))
    means[:trials, 1] += 0.15
    means[trials : 2 * trials, 0] += 0.15
    means[2 * trials :, 0] += 0.001
    return means


def cases() -> list[Case]:
    """Arms and drifts; those of the ramp of docs/drift.md are among them."""
    found = []
    for name, arms in ARMS.items():
        others = uncommon_drifts(arms) if arms.above.size < 5 else {}  # a gap of 0.02 is too small to be found in time
        for drift, (instance, change) in (common_drifts(arms) | others).items():
            found.append(Case(name, drift, instance, change, 10_000 if drift.endswith("10,000") else TRIALS))
    for name, arms in EQUAL.items():
        constant = {"none": (arms.at(0.4), Steps([0], [0.0]))}
        for drift, (instance, change) in (constant | common_drifts(arms)).items():
            if not drift.endswith("10,000"):
                found.append(Case(name, drift, instance, change, any_answer=True))
    return found


@dataclass(frozen=True)
class Stationary:
    """An instance without drift, and the trials of F-TaS with a mixture tuned to it, as measured once.

    Attributes:
        means: Of Bernoulli arms.
        floor: Of every arm.
        delta: The error probability.
        before: Mean trials of ``FairTrackAndStop()`` with ``Mixture.for_trials`` at commit dc2934d.
        error: Their standard error.
        runs: From how many runs (seed 101 for 12,000, seed 7 for 2,000).
    """

    means: tuple[float, ...]
    floor: float
    delta: float
    before: float
    error: float
    runs: int

    @property
    def instance(self) -> Instance:
        """With constant floors."""
        return Instance(self.means, Bernoulli(), floors=self.floor)


STATIONARY = (
    Stationary((0.30, 0.22, 0.15), 0.2, 0.05, 1_515, 8, 12_000),
    Stationary((0.12, 0.10, 0.09), 0.2, 0.05, 13_399, 149, 2_000),
    Stationary((0.5, 0.4, 0.4, 0.3), 0.1, 0.1, 1_760, 8, 12_000),
    Stationary((0.50, 0.45, 0.45, 0.45, 0.45), 0.05, 0.05, 14_126, 120, 2_000),
)
