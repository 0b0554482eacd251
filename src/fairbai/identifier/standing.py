"""The part of a snapshot that says how sure arms have been when they were named; see ``kernels.stopping.standing``."""

from typing import Any

from fairbai.experiment.experiment import Experiment
from fairbai.kernels import state as rows
from fairbai.kernels.stopping.standing import MAX_SCORE
from fairbai.problems.checks import array, number, refuse, whole

SAVED = {"observed": rows.SAVED_OBSERVED, "sums": rows.SAVED_SUM, "squares": rows.SAVED_SQUARES}


def write(experiment: Experiment) -> dict[str, Any]:
    """The scores that are known, when to look next, and the time that is saved, if there is one."""
    state, scalars = experiment.state, experiment.scalars
    form = {"scores": state[rows.BEST_SCORE].tolist(), "next_look": float(scalars[rows.NEXT_LOOK]), "saved": None}
    named = int(scalars[rows.SAVED_NAMED])
    if named >= 0:
        saved = {name: state[row].tolist() for name, row in SAVED.items() if state[row].any()}
        form["saved"] = {"named": named, "glr": min(float(scalars[rows.SAVED_GLR]), MAX_SCORE), **saved}
    return form


def restore(experiment: Experiment, form: dict[str, Any], off: tuple[int, ...] = ()) -> None:
    """Continue from what ``write`` gave; arms that are switched ``off`` need no rewards."""
    state, scalars, arms = experiment.state, experiment.scalars, experiment.policy.size
    state[rows.BEST_SCORE] = array("scores", form["scores"], arms)
    scalars[rows.NEXT_LOOK] = number("next_look", form["next_look"], 0.0, 1e300, "at least 0")
    if (saved := form["saved"]) is None:
        return
    for name, row in SAVED.items():
        state[row] = array(name, saved[name], arms) if name in saved else 0.0
    counts = state[rows.SAVED_OBSERVED]
    wrong = _impossible(experiment)
    wrong[list(off)] = False
    refuse("saved", "have a reward of every arm, and no more than now", counts, wrong)
    scalars[rows.SAVED_NAMED] = whole("named", saved["named"], 0, arms - 1)
    scalars[rows.SAVED_GLR] = number("glr", saved["glr"], 0.0, MAX_SCORE, "at least 0")


def _impossible(experiment: Experiment) -> Any:
    counts = experiment.state[rows.SAVED_OBSERVED]
    return (counts < 1.0) | (counts > experiment.state[rows.OBSERVED])
