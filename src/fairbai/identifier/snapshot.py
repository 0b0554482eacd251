"""Snapshots of an experiment: JSON with a version, checked when they are read."""

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.drawn_trials import OrderedTrials
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.procedure import Procedure
from fairbai.experiment.settling import checked_settling, settling_form
from fairbai.identifier import standing, units
from fairbai.identifier.ending import checked_reason
from fairbai.kernels import state as rows
from fairbai.kernels.families import BOUNDED, GAUSSIAN_UNKNOWN
from fairbai.kernels.stopping import design
from fairbai.problems.checks import array, floors, number, whole
from fairbai.problems.families import Family
from fairbai.problems.rates import Rate
from fairbai.sampling import SamplingRule
from fairbai.stopping import Mixture, StoppingRule

if TYPE_CHECKING:
    from fairbai.identifier.identifier import Identifier

    Kind = TypeVar("Kind", bound=Identifier)

VERSION = 2
FIRST_VERSION = 1  # without a digest, trials that are given up, and the alpha of a mixture (which was 0)
MAX_EXACT = 2**53  # whole numbers below it are exact as floats
FIXED = (
    "arms",
    "delta",
    "family",
    "rates",
    "sampling",
    "stopping",
    "settle",
    "seed",
    "report_after",
    "silence",
    "look_every",
    "hold_trials",
    "tolerance",
    "goal",
    "control",
    "max_trials",
)
"""What must not change in the course of an experiment: the proof holds for a configuration that was fixed before."""

ROWS = {
    "assigned": rows.ASSIGNED,
    "observed": rows.OBSERVED,
    "lost": rows.LOST,
    "sums": rows.SUM,
    "floors": rows.FLOOR,
    "weights": rows.WEIGHT,
    "targets": rows.TARGET,
}
"""What the rest follows from. (Weights follow too, but from where the last solve began; so do the last bits.)"""


def write(identifier: "Identifier") -> dict[str, Any]:
    """The snapshot of an experiment."""
    experiment = identifier.procedure.experiment
    fixed = {
        "arms": list(identifier.arms),
        "delta": identifier.delta,
        "family": identifier.family.to_dict(),
        "rates": None if experiment.python_rates else identifier.rates.to_dict(),
        "sampling": None if experiment.python_rule else identifier.sampling.to_dict(),
        "stopping": identifier.stopping.for_arms(len(identifier.arms)).to_dict(),
        "settle": settling_form(identifier.settle),
        "seed": identifier.seed,
        **_late_rewards(identifier),
        **identifier.question.to_dict(identifier.arms),
    }
    return with_digests({"version": VERSION, **fixed, **changing(identifier)})


def with_digests(form: dict[str, Any]) -> dict[str, Any]:
    """A snapshot with the digests of its configuration and of its state.

    They protect against accidents: a slip in an editor, half a copy, a disk that fails. They are no secret, so that
    they do not protect against somebody who wants to deceive.
    """
    return {**form, "digest": _digest(form), "state_digest": _state_digest(form)}


def _digest(form: dict[str, Any]) -> str:
    """The SHA-256 of the configuration in a snapshot."""
    return _sha256({name: form[name] for name in FIXED if name in form})


def _state_digest(form: dict[str, Any]) -> str:
    """The SHA-256 of all that trials change in a snapshot."""
    other = ("version", "digest", "state_digest", *FIXED)
    return _sha256({name: value for name, value in form.items() if name not in other})


def _sha256(form: dict[str, Any]) -> str:
    text = json.dumps(_as_floats(form), sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _as_floats(value: Any) -> Any:
    """The same with floats for whole numbers: other programs write 1.0 as 1, and that is no change."""
    if isinstance(value, dict):
        return {name: _as_floats(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_as_floats(one) for one in value]
    return float(value) if type(value) is int and abs(value) < MAX_EXACT else value


def _late_rewards(identifier: "Identifier") -> dict[str, Any]:
    """How late rewards are counted, when decisions are made and trials end; nothing if that is as in older versions."""
    opened, every = identifier.procedure.open_trials, identifier.procedure.look_every
    form = {} if opened is None else {"report_after": identifier.report_after, "silence": identifier.silence}
    form |= {} if every == 1 else {"look_every": every}
    form |= {} if identifier.max_trials is None else {"max_trials": identifier.max_trials}
    return form | {"hold_trials": False} if isinstance(opened, OrderedTrials) else form


def changing(identifier: "Identifier") -> dict[str, Any]:
    """The part of a snapshot that trials change."""
    decision, experiment = identifier.procedure.decision, identifier.procedure.experiment
    opened = identifier.procedure.open_trials
    return {
        "state": {name: experiment.state[row].tolist() for name, row in _rows(experiment).items()},
        "start": float(experiment.scalars[rows.START]),
        **({} if experiment.run == 0 else {"stream": experiment.run}),
        "decision": None
        if decision is None
        else {
            "recommendation": decision.recommendation,
            "round": decision.round,
            "final_round": decision.final_round,
            "floors": decision.floors.tolist(),
            "glr": decision.glr,
            "threshold": decision.threshold,
            "confidence": decision.confidence,
            "candidates": None if decision.candidates is None else list(decision.candidates),
        },
        **({} if opened is None else {"trials": opened.to_dict()}),
        **({} if experiment.guarantees is None else {"design": _design(experiment)}),
        **({"standing": standing.write(experiment)} if experiment.keeps_scores else {}),
        **({} if identifier.procedure.ended is None else {"ended": identifier.procedure.ended}),
        **({"off": list(identifier.procedure.off)} if identifier.procedure.off else {}),
        "doubts": identifier.procedure.doubts.to_dict(),
        **({"units": units.write(identifier.units, identifier.arms)} if identifier.units else {}),
    }


def _rows(experiment: Experiment) -> dict[str, int]:
    return {**ROWS, "squares": rows.SQUARES} if experiment.family.code in (BOUNDED, GAUSSIAN_UNKNOWN) else ROWS


def _design(experiment: Experiment) -> dict[str, Any]:
    """The evidence that survives drift; its grid follows from the configuration."""
    counted, level, memory = experiment.scalars[design.COUNTED : design.GRID].tolist()
    return {"counted": counted, "level": level, "memory": memory, "rows": experiment.state[rows.STATE_ROWS :].tolist()}


def _restore_design(experiment: Experiment, form: dict[str, Any]) -> None:
    state, reach = experiment.state[rows.STATE_ROWS :], experiment.state[design.REACH].copy()
    if len(form["rows"]) != len(state):
        raise ValueError(f"design must have {len(state)} rows, got {len(form['rows'])}")
    for row, values in zip(state, form["rows"], strict=True):
        row[:] = array("design", values, row.size)
    experiment.state[design.REACH] = reach
    for name, place in (("counted", design.COUNTED), ("memory", design.MEMORY)):
        experiment.scalars[place] = number(name, form[name], 0.0, 1e300, "at least 0")
    experiment.scalars[design.LEVEL] = number("level", form["level"], -1e300, 1e300, "a finite number")


def read(
    kind: "type[Kind]", form: dict[str, Any], rates: Rate | None = None, sampling: SamplingRule | None = None
) -> "Kind":
    """The experiment of a snapshot; a ValueError says what is wrong with one that cannot be read."""
    _check_form(form, rates, sampling)
    try:
        if form["version"] == FIRST_VERSION:
            form = in_present_version(form)
        identifier = kind(
            arms=form["arms"],
            delta=form["delta"],
            family=Family.from_dict(form["family"]),
            rates=rates if form["rates"] is None else Rate.from_dict(form["rates"]),
            sampling=sampling if form["sampling"] is None else SamplingRule.from_dict(form["sampling"]),
            stopping=StoppingRule.from_dict(form["stopping"]),
            settle=checked_settling(form["settle"]),
            seed=form["seed"],
            report_after=form.get("report_after"),
            silence=form.get("silence"),
            look_every=form.get("look_every", 1),
            hold_trials=form.get("hold_trials", True),
            tolerance=form.get("tolerance"),
            goal=form.get("goal", "max"),
            control=form.get("control"),
            max_trials=form.get("max_trials"),
        )
        if form["digest"] != _digest(form):
            raise ValueError("its configuration was edited: delta and all rules must be fixed before the experiment")
        _restore(identifier.procedure, form)
        identifier.units = units.read(form.get("units", {}), identifier.arms, identifier.trials)
        if form["state_digest"] != _state_digest(form):
            raise ValueError("its counts, sums or decision are not those that were written: use an earlier copy")
    except (KeyError, TypeError) as error:
        raise ValueError(f"snapshot is damaged: {error!r}") from None
    except ValueError as error:
        raise ValueError(f"snapshot is damaged: {error}") from None
    return identifier


def _check_form(form: Any, rates: Rate | None, sampling: SamplingRule | None) -> None:
    """Refuse what is no snapshot, and code that is missing or too much."""
    if not isinstance(form, dict) or "version" not in form:
        raise ValueError("snapshot must be a dictionary with a version, as Identifier.to_dict gives it")
    if type(form["version"]) is not int or not FIRST_VERSION <= form["version"] <= VERSION:
        raise ValueError(f"snapshot must have version {FIRST_VERSION} or {VERSION}, got {form['version']!r}")
    for name, given in (("rates", rates), ("sampling", sampling)):
        if name in form and (form[name] is None) != (given is not None):
            needed = "are Python code: give them to from_dict" if given is None else "are in it: do not give others"
            raise ValueError(f"{name} of this snapshot {needed}")


def in_present_version(form: dict[str, Any]) -> dict[str, Any]:
    """The same experiment as a snapshot of the present version, from one of the first version."""
    stopping = dict(form["stopping"])
    if stopping["kind"] == Mixture.kind:
        stopping.setdefault("alpha", 0.0)
    state = {"lost": [0.0] * len(form["state"]["assigned"]), **form["state"]}
    return with_digests({**form, "version": VERSION, "stopping": stopping, "state": state})


def _restore(procedure: Procedure, form: dict[str, Any]) -> None:
    experiment = procedure.experiment
    state, scalars, arms = experiment.state, experiment.scalars, experiment.policy.size
    for name, row in _rows(experiment).items():
        state[row] = array(name, form["state"][name], arms)
    counts = state[[rows.ASSIGNED, rows.OBSERVED, rows.LOST]]
    if (counts != np.floor(counts)).any() or (counts < 0.0).any() or (counts[1] + counts[2] > counts[0]).any():
        raise ValueError("observed and lost must be whole numbers that together do not exceed assigned")
    if (state[rows.SQUARES] < 0.0).any():
        raise ValueError("squares must not be negative")
    floors("floors", state[rows.FLOOR], arms)
    floors("weights", state[rows.WEIGHT], arms)
    experiment.restart_stream(form.get("stream", 0))
    scalars[rows.START] = number("start", form["start"], 0.0, 1e300, "at least 0")
    if experiment.guarantees is not None:
        _restore_design(experiment, form["design"])
    experiment.recount()
    if (opened := procedure.open_trials) is not None:
        opened.restore(form["trials"], experiment.family, experiment.round)
        if (counts[1] + counts[2] + opened.of_each_arm() > counts[0]).any():
            raise ValueError("trials must be some of those that are assigned and neither observed nor lost")
    if "off" in form:
        procedure.restore_off(_off(form["off"], arms))
    if "doubts" in form:  # snapshots of earlier versions have none: their tests start afresh
        procedure.doubts.restore(form["doubts"])
    if "standing" in form and experiment.keeps_scores:  # likewise
        standing.restore(experiment, form["standing"], procedure.off)
    if "ended" in form:
        procedure.ended = checked_reason(form["ended"])
    if form["decision"] is not None:
        procedure.decision = _decision(form["decision"], arms, experiment.round)


def _off(form: list[Any], arms: int) -> tuple[int, ...]:
    off = tuple(whole("off", arm, 0, arms - 1) for arm in form)
    if len(set(off)) != len(off) or not 1 <= len(off) <= arms - 2:
        raise ValueError(f"off must be arms that leave two others, got {form!r}")
    return off


def _decision(form: dict[str, Any], arms: int, now: int) -> Decision:
    """The decision of a snapshot that was taken in round ``now``."""
    answer, when, end = (whole(name, form[name], 0) for name in ("recommendation", "round", "final_round"))
    if answer >= arms or not when <= end or when > now:
        raise ValueError(f"decision must name an arm and rounds in order, got {form!r}")
    met = floors("floors", form["floors"], arms)
    glr, threshold = (number(name, form[name], 0.0, 1e300, "at least 0") for name in ("glr", "threshold"))
    sure, left = form.get("confidence"), form.get("candidates")
    if sure is not None:
        sure = number("confidence", sure, 0.0, 1.0, "from 0 to 1")
    if left is not None:
        left = tuple(whole("candidate", arm, 0, arms - 1) for arm in left)
    return Decision(answer, when, end, met, glr, threshold, sure, left)
