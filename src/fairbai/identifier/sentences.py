"""What a status means, in one sentence."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairbai.identifier.status import Status

MAX_NAMED = 4  # arms in a sentence; more are counted
MAX_PERCENT = 99.9  # that a sentence claims
SURE_AT_ALL = 0.01  # a confidence below it is not worth a number
Quote = Callable[[Any], str]


def sentence(status: "Status", quote: Quote) -> str:
    """Where an experiment stands and, if rewards wait for one that is missing, for which."""
    if status.decided:
        return _decided(status, quote)
    said = _undecided(status, quote)
    return said if status.waits is None else f"{said} {status.waits.sentence()}."


def _undecided(status: "Status", quote: Quote) -> str:
    """What one has if one stops now."""
    if status.recommendation is None:
        return f"{_opening(status)} no arm can be named, because {_lacking(status)}."
    looks = quote(status.recommendation)
    if status.ended_by is not None:  # the control may be the best guess although another arm looks better
        looks += " looks best" if status.question.control is None else " is the best guess"
    if status.confidence is None or status.candidates is None:
        return f"{_opening(status)} {looks}; how sure that is cannot be said, because {_reason(status)}."
    sure = _sure(status, status.confidence, quote)
    return f"{_opening(status)} {looks}, {sure}; {race(status.candidates, len(status.arms), quote)}."


def percent(confidence: float) -> str:
    """A confidence in per cent, rounded down, and never more than 99.9.

    Example:
        >>> percent(0.8799), percent(0.99), percent(0.9978), percent(1.0)
        ('87 %', '99 %', '99.7 %', '99.9 %')
    """
    whole = math.floor(100.0 * confidence + 1e-9)
    if whole < 99:
        return f"{whole} %"
    tenths = math.floor(1000.0 * confidence + 1e-9) / 10.0
    return f"{min(tenths, MAX_PERCENT):g} %"


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 trial, 5,000 trials."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _opening(status: "Status") -> str:
    """Whether the experiment goes on."""
    trials = int(status.assigned.sum())
    if status.ended_by is None:
        return "If you stop now:"
    if status.stopped:
        return f"Stopped after {counted(trials, 'trial')} without a decision:"
    return f"No trials after {trials:,}, but rewards are still out:"


def _lacking(status: "Status") -> str:
    """What has to come before an arm can be named."""
    if status.condition:  # a model of fewer parameters than arms, for which some of the arms are enough
        return "the arms that have rewards do not determine all parameters of the model"
    missing = int((status.observed == 0).sum())
    none = "no reward" if status.waits is None else "no counted reward"
    return f"{counted(missing, 'arm')} ha{'s' if missing == 1 else 've'} {none}"


def _sure(status: "Status", confidence: float, quote: Quote) -> str:
    """How sure, and of what, if it is not that the arm is the best one."""
    if confidence < SURE_AT_ALL:
        return "but that is no more than a guess"
    what = ""
    if _keeps_control(status):
        what = f" that no arm is better by more than {status.question.size}"
    elif status.question.tolerance is not None:
        what = f" that it is {_claim(status, quote)}"
    return f"{percent(confidence)} sure{what}"


def _keeps_control(status: "Status") -> bool:
    control = status.question.control
    return control is not None and status.arms[control] == status.recommendation


def _claim(status: "Status", quote: Quote) -> str:
    """What is said of an arm that is named, and is not the control."""
    question = status.question
    within = f"within {question.size} of the best"
    return within if question.control is None else f"better than {quote(status.arms[question.control])} and {within}"


def race(candidates: Sequence[Hashable], arms: int, quote: Quote) -> str:
    """Which of the arms may still be the best.

    Example:
        >>> race(["a", "b"], 5, repr), race(range(5), 5, repr)
        ("'a' and 'b' are still in the race", 'all 5 arms are still in the race')
    """
    left = len(candidates)
    if left > MAX_NAMED:
        return f"{'all' if left == arms else f'{left:,} of'} {arms:,} arms are still in the race"
    named = listed(candidates, quote)
    return f"only {named} is still in the race" if left == 1 else f"{named} are still in the race"


def listed(arms: Sequence[Hashable], quote: Quote) -> str:
    """Some arms: 'a', 'b' and 'c'."""
    *first, last = (quote(arm) for arm in arms)
    return f"{', '.join(first)} and {last}" if first else last


def _decided(status: "Status", quote: Quote) -> str:
    answer = quote(status.recommendation)
    if _keeps_control(status):
        answer = f"no arm is better than {answer} by more than {status.question.size}"
    elif status.question.tolerance is not None:
        answer += f" is {_claim(status, quote)}"
    if status.confidence is None:
        return f"Decided: {answer}, but this is not proved, because {_reason(status)}."
    condition = f" if {status.proved_if}" if status.proved_if else ""
    return f"Decided: {answer}, with {percent(status.confidence)} confidence, proved{condition}{_since(status)}."


def _since(status: "Status") -> str:
    """What rewards after the decision say against it; empty if nothing."""
    if not status.doubts:
        return ""
    fit = status.doubts[0].kind == "fit"
    return f"; later rewards contradict {'that' if fit else 'the declared family'}"


def _reason(status: "Status") -> str:
    """Why nothing is proved."""
    early = [doubt.reason for doubt in status.doubts if not doubt.after_decision]
    return f"{early[0][0].lower()}{early[0][1:]}" if early else "the stopping rule is not proved"
