"""Snapshots of an experiment: JSON with a version, checked when they are read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fairbai.kernels import state as rows
from fairbai.problems.checks import Array, array, floors
from fairbai.problems.families import Family
from fairbai.problems.rates import Rate
from fairbai.sampling import SamplingRule
from fairbai.stopping import StoppingRule

if TYPE_CHECKING:
    from fairbai.identifier.identifier import Identifier

    Kind = TypeVar("Kind", bound=Identifier)

VERSION = 1
ROWS = {
    "assigned": rows.ASSIGNED,
    "observed": rows.OBSERVED,
    "sums": rows.SUM,
    "means": rows.MEAN,
    "inside": rows.INSIDE,
    "floors": rows.FLOOR,
    "weights": rows.WEIGHT,
    "targets": rows.TARGET,
    "costs": rows.COST,
    "ratios": rows.RATIO,
    "penalties": rows.PENALTY,
}


@dataclass(frozen=True, eq=False)
class Decision:
    """The answer, when it was found, the round at which all floors are met, and the floors to meet."""

    recommendation: int
    round: int
    final_round: int
    floors: Array


def write(identifier: "Identifier") -> dict[str, Any]:
    """The snapshot of an experiment."""
    decision = identifier._decision
    return {
        "version": VERSION,
        "arms": list(identifier.arms),
        "delta": identifier.delta,
        "family": identifier.family.to_dict(),
        "rates": None if identifier._python_rates else identifier.rates.to_dict(),
        "sampling": None if identifier.sampling.code is None else identifier.sampling.to_dict(),
        "stopping": identifier.stopping.to_dict(),
        "settle": identifier.settle,
        "seed": identifier.seed,
        "state": {name: identifier._state[row].tolist() for name, row in ROWS.items()},
        "numbers": identifier._numbers.tolist(),
        "evidence": None if identifier._numbers[rows.UNSEEN] > 0.0 else [float(part) for part in identifier._evidence],
        "decision": None
        if decision is None
        else {
            "recommendation": decision.recommendation,
            "round": decision.round,
            "final_round": decision.final_round,
            "floors": decision.floors.tolist(),
        },
    }


def read(
    kind: "type[Kind]", form: dict[str, Any], rates: Rate | None = None, sampling: SamplingRule | None = None
) -> "Kind":
    """The experiment of a snapshot; a ValueError says what is wrong with one that cannot be read."""
    if not isinstance(form, dict) or "version" not in form:
        raise ValueError("snapshot must be a dictionary with a version, as Identifier.to_dict gives it")
    if form["version"] != VERSION:
        raise ValueError(f"snapshot must have version {VERSION}, got {form['version']!r}")
    for name, given in (("rates", rates), ("sampling", sampling)):
        if name in form and form[name] is None and given is None:
            raise ValueError(f"{name} of this snapshot are Python code: give them to from_dict")
    try:
        identifier = kind(
            arms=form["arms"],
            delta=form["delta"],
            family=Family.from_dict(form["family"]),
            rates=rates if form["rates"] is None else Rate.from_dict(form["rates"]),
            sampling=sampling if form["sampling"] is None else SamplingRule.from_dict(form["sampling"]),
            stopping=StoppingRule.from_dict(form["stopping"]),
            settle=form["settle"],
            seed=form["seed"],
        )
        _restore(identifier, form)
    except (KeyError, TypeError) as error:
        raise ValueError(f"snapshot is damaged: {error!r}") from None
    except ValueError as error:
        raise ValueError(f"snapshot is damaged: {error}") from None
    return identifier


def _restore(identifier: "Identifier", form: dict[str, Any]) -> None:
    arms = len(identifier.arms)
    state, numbers = identifier._state, identifier._numbers
    for name, row in ROWS.items():
        state[row] = array(name, form["state"][name], arms)
    numbers[:] = array("numbers", form["numbers"], numbers.size)
    counts = state[[rows.ASSIGNED, rows.OBSERVED]]
    if (counts != np.floor(counts)).any() or (counts < 0.0).any() or (counts[1] > counts[0]).any():
        raise ValueError("observed must be whole numbers that do not exceed assigned")
    floors("floors", state[rows.FLOOR], arms)
    seen = counts[1] > 0.0
    if (state[rows.MEAN, seen] != state[rows.SUM, seen] / counts[1, seen]).any():
        raise ValueError("means must be the sums over observed")
    totals = [counts[0].sum(), counts[1].sum(), np.sum(counts[1] == 0.0)]
    if totals != [numbers[rows.ROUND], numbers[rows.SEEN], numbers[rows.UNSEEN]]:
        raise ValueError("numbers must be the sums of assigned and observed")
    if form["evidence"] is not None:
        score, worst, glr, factor, penalty = (float(part) for part in form["evidence"])
        identifier._evidence = (score, int(worst), glr, factor, penalty)
    if form["decision"] is not None:
        decision = form["decision"]
        answer, when, end = (_whole(name, decision[name]) for name in ("recommendation", "round", "final_round"))
        if answer >= arms or not when <= end or when > numbers[rows.ROUND]:
            raise ValueError(f"decision must name an arm and rounds in order, got {decision!r}")
        identifier._decision = Decision(answer, when, end, floors("floors", decision["floors"], arms))


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a whole number from 0, got {value!r}")
    return value
