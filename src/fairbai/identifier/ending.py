"""Experiments that end without a decision: when, and what is said then; and arms that end before the others."""

from typing import Any

from fairbai.experiment.procedure import Procedure
from fairbai.identifier.sentences import counted
from fairbai.problems.checks import is_whole
from fairbai.stopping import KaufmannKoolen

MAX_TRIALS = 2**53  # counts are exact up to here
OWN = ("decision", "max_trials")  # reasons that only the experiment itself gives


def checked_max_trials(max_trials: Any, arms: int) -> int | None:
    """The argument of an ``Identifier``, checked."""
    if max_trials is None:
        return None
    if not is_whole(max_trials, arms, MAX_TRIALS):
        raise ValueError(
            f"max_trials must be a whole number from {arms}, the number of arms, to 2**53, or None, got {max_trials!r}"
        )
    return int(max_trials)


def checked_reason(reason: Any) -> str:
    """What ``Identifier.end`` was given, checked."""
    if not isinstance(reason, str) or not reason or reason in OWN:
        raise ValueError(f"reason must be a text other than {' and '.join(map(repr, OWN))}, got {reason!r}")
    return reason


def check_switch(procedure: Procedure, arms: tuple[Any, ...], arm: int) -> None:
    """A ValueError says why an arm cannot be switched off."""
    one = procedure.experiment
    if one.guarantees is not None:
        raise ValueError("design_based compares averages over all trials, and so needs every arm until the end")
    if isinstance(one.stopping, KaufmannKoolen) and not one.stopping.pairwise:
        raise ValueError("the threshold of kaufmann_koolen without pairwise is about all arms together")
    if one.limited or one.python_rule or one.python_rates:
        raise ValueError("an arm cannot be switched off where there are ceilings, groups, or rules in Python")
    if arm in procedure.off:
        raise ValueError(f"arm {arms[arm]!r} is switched off already")
    if arm == one.question.control:
        raise ValueError(f"arm {arms[arm]!r} is the control, with which all others are compared")
    if procedure.decision is not None and procedure.decision.recommendation == arm:
        raise ValueError(f"arm {arms[arm]!r} is the answer, which is final")
    if len(arms) - len(procedure.off) <= 2:
        raise ValueError("two arms must remain: end the experiment instead")
    if not procedure.assigns:
        raise ValueError("no further trials are assigned anyway")


def reason(procedure: Procedure, recommendation: Any) -> str:
    """Why there is no next trial, in words."""
    if procedure.decision is not None:
        return f"the experiment has stopped: {recommendation!r} is the answer"
    looks = "looks best" if procedure.experiment.question.control is None else "is the best guess"
    best = "no arm can be named" if recommendation is None else f"{recommendation!r} {looks} so far"
    trials = counted(procedure.experiment.round, "trial")
    if procedure.ended is None:
        return f"all {counted(procedure.max_trials or 0, 'trial')} of max_trials are assigned: {best}"
    return f"the experiment was ended after {trials} ({procedure.ended}): {best}"
