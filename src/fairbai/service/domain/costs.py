"""What operations cost, in seconds, approximately and on the safe side.

One thread writes for all experiments, so one operation may not take long, and those that share a transaction may not
take long together: others wait for both. The figures are what one core of 2020 takes, compiled, and a little more.
"""

from typing import Any

from fairbai.problems.families import Gaussian
from fairbai.problems.linear import Linear
from fairbai.service.domain.refusals import Refusal

MAX_OPERATION = 0.05  # of one operation, and of heavy ones that share a transaction
LIGHT = 0.016  # of an operation that is not heavy
MAX_LIGHT = 0.03  # of light ones that share a transaction
UNKNOWN = 0.0145  # to read an experiment of unknown size
FUNCTION = 0.015  # of what is not an operation, such as creating an experiment
EXPERIMENT, PER_ARM = 2e-4, 1e-5  # to write the state of an experiment: in any case, and per arm
LOOK_PER_ARM = 4e-5  # for a point of the history, once every arm has a reward: how sure it is of each
READING, READING_PER_ARM = 1e-3, 2e-5  # more to read it
TRIAL = 2e-5  # to choose or to count a trial, and to write its row
TRIAL_PER_ARM = 1e-7  # more per arm,
# and more to choose with these rules, which search for a bound of every arm,
RULES_PER_ARM = {
    "lucb": 3.5e-6,
    "posterior_fair": 4e-7,
    "virtual_queues": 1.3e-6,
    "fair_thompson": 1.3e-6,
    "fair_ucb": 4e-7,
    "strict_quota": 4e-7,
    "stochastic_quota": 4e-7,
}
READY = 0.004  # for one operation to count what it makes ready, beside its own; the rest follows in turns of its own
STOPS_PER_ARM = {"design_based": 4e-7}  # to count with this one,
UNKNOWN_VARIANCES_PER_ARM = 2.5e-6  # with these,
LINEAR = 2.5e-6  # and per parameter of linear arms, too, whose best shares are solved for again and again
MAX_LINEAR = 2_500  # arms times parameters, so that solving takes no longer than an operation may


def of_state(book: Any) -> float:
    """What every transaction that changes an experiment costs."""
    return EXPERIMENT + PER_ARM * len(book.labels)


def of_looking(book: Any, more: int) -> float:
    """What a point of the history costs, if one is due within so many trials or rewards more."""
    due = book.observed >= len(book.labels) and book.looks.due_within(book.identifier.trials, book.observed, more)
    return LOOK_PER_ARM * len(book.labels) if due else 0.0


def of_reading(arms: int | None) -> float:
    """What a transaction costs whose experiment is not in memory."""
    return UNKNOWN if arms is None else EXPERIMENT + READING + (PER_ARM + READING_PER_ARM) * arms


def of_choosing(book: Any) -> float:
    """What a ticket costs."""
    return TRIAL + len(book.labels) * (RULES_PER_ARM.get(book.identifier.sampling.kind, TRIAL_PER_ARM) + _more(book))


def of_counting(book: Any) -> float:
    """What a reward costs."""
    return TRIAL + len(book.labels) * (STOPS_PER_ARM.get(book.identifier.stopping.kind, TRIAL_PER_ARM) + _more(book))


def _more(book: Any) -> float:
    """What a trial costs more per arm, whether it is chosen or counted."""
    family = book.identifier.family
    if isinstance(family, Linear):
        return LINEAR * family.dimension
    return UNKNOWN_VARIANCES_PER_ARM if isinstance(family, Gaussian) and family.unknown_variance else 0.0


def check_linear(arms: int, parameters: int) -> None:
    """Refuse linear arms, one trial of which others would have to wait for."""
    if arms * parameters > MAX_LINEAR:
        most = f"arms times parameters must be at most {MAX_LINEAR:,} here"
        raise ValueError(f"{most}, got {arms:,} x {parameters:,}: leave out levels or interactions")


def most_at_once(each: float, arms: int) -> int:
    """How many trials or rewards one operation may have.

    A point of the history may come with any operation, and leaves less time for it, but a third of it at least.
    """
    seconds = max(MAX_OPERATION - LOOK_PER_ARM * arms, MAX_OPERATION / 3.0)
    return max(1, int(seconds / each))


def check_size(size: int, each: float, arms: int) -> None:
    """Refuse an operation that others would have to wait for."""
    most = most_at_once(each, arms)
    if size > most:
        detail = f"At most {most:,} at a time are possible with {arms:,} arms and this rule, got {size:,}"
        raise Refusal(413, "Too much at once", detail, most=most)
