"""Units keep their arm in the library, too, also in snapshots."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fairbai as fb


def new(**options: Any) -> fb.Identifier:
    return fb.Identifier(["a", "b", "c"], delta=0.1, family=fb.Gaussian(1.0), rates=0.1, seed=3, **options)


def decided() -> fb.Identifier:
    ident = new()
    number = 0
    while not ident.stopped:
        trial = ident.ask_trial(unit=f"early-{number}")
        ident.tell(trial, 5.0 * (trial.arm == "b"))
        number += 1
    return ident


def test_a_unit_keeps_its_arm() -> None:
    ident = new()
    first = ident.ask(unit="user-7")
    others = [ident.ask(unit=f"user-{number}") for number in range(6)]
    assert ident.trials == 7
    assert ident.ask(unit="user-7") == first
    assert [ident.ask(unit=f"user-{number}") for number in range(6)] == others
    assert ident.ask_trial(unit="user-7").number == 0
    assert ident.trials == 7
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert again.units == ident.units
    assert again.ask(unit="user-7") == first
    assert again.forget("user-7")
    assert not again.forget("user-7")
    again.ask(unit="user-7")
    assert again.trials == 8


def test_first_visits_in_several_threads() -> None:
    ident = new()
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda number: ident.ask_trial(unit=f"user-{number % 5}"), range(200)))
    assert len(set(got)) == ident.trials == 5


def test_after_the_stop() -> None:
    ident = decided()
    trials = ident.trials
    assert ident.ask(unit="new") == ident.recommendation == "b"
    assert all(ident.ask(unit=unit) == trial.arm for unit, trial in list(ident.units.items()))
    with pytest.raises(RuntimeError):
        ident.ask_trial(unit="new")
    assert (ident.trials, "new" in ident.units) == (trials, False)


def test_an_arm_that_is_switched_off() -> None:
    ident = new()
    units = [f"user-{number}" for number in range(6)]
    arms = {unit: ident.ask(unit=unit) for unit in units}
    ident.switch_off("a")
    gone = next(unit for unit in units if arms[unit] == "a")
    with pytest.raises(RuntimeError, match="arm 'a' of unit 'user-0' is switched off" if gone == "user-0" else "off"):
        ident.ask(unit=gone)
    while not ident.stopped:
        trial = ident.ask_trial()
        ident.tell(trial, 5.0 * (trial.arm == "b"))
    assert ident.ask(unit=gone) == "b"


def test_wrong_units() -> None:
    ident = new()
    with pytest.raises(ValueError, match="unit must be text, such as 'user-7', got 7"):
        ident.ask(unit=7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n must not be given with a unit"):
        ident.ask(2, unit="user-7")
    ident.ask(unit="user-7")
    form = ident.to_dict()
    form["units"]["user-7"] = [5, 0, None]
    with pytest.raises(ValueError, match="unit 'user-7' must have a trial that was assigned"):
        fb.Identifier.from_dict(form)
