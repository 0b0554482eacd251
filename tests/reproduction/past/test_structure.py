"""The section on structured arms; ``fairbai reproduce`` has more runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairbai.allocation import solve
from fairbai.reproduction.past import structure
from fairbai.reproduction.past.structure import Misfit, cases, design, means, misfit


def test_the_means_are_sums_of_effects() -> None:
    values = means()
    assert np.abs(values - design().fitted(values)).max() < 1e-12
    assert design().arms[int(np.argmax(values))] == "old / cat / buy"


def test_structure_saves_trials() -> None:
    times = {case.name: case.time for case in cases()}
    assert times["3 × 3 × 2, unrelated arms"] > 2.0 * times["3 × 3 × 2, structured"]
    assert times["soft cut, unrelated arms"] > 30.0 * times["soft cut, structured"]


def test_the_soft_cut_is_told_apart_by_a_bad_arm() -> None:
    """The rival is almost parallel to the best; the second unit vector, with mean 0, gets most of the trials."""
    instance = structure.soft_cut()
    assert instance.best_arm == 0
    assert int(np.argmax(solve(instance).weights)) == 1
    assert instance.means[1] == 0.0


class Made:
    """Runs that all took 100 trials and were right."""

    stopping_time = np.full((4, 1), 100.0)
    correct = np.ones((4, 1), dtype=bool)
    censored = np.zeros((4, 1), dtype=bool)

    def __len__(self) -> int:
        return 4


def test_the_section_says_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "POINTS", 3)
    made: Any = Made()
    misfits = [Misfit(0.0, 20, 20, 0, 0, 0, 700.0), Misfit(-0.5, 20, 19, 18, 15, 3, 2000.0)]
    found = structure.written([(case, made) for case in cases()], misfits)
    assert [table.name for table in found.tables] == ["structure_trials", "structure_misfit"]
    assert found.tables[0].rows[0][2:] == ["100 ± 0", "0 of 4"]
    assert "takes 1.00 times fewer trials" in found.findings[0]
    assert "18 of 20 experiments name a wrong combination; 15 are doubted in time, and 3 wrong" in found.findings[-1]


def test_experiments_with_a_missing_interaction_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "MAX_TRIALS", 60)
    found = misfit(-2.0, 1, seed=1)
    assert (found.runs, found.decided, found.trials) == (1, 0, 60.0)


@pytest.mark.system
def test_a_large_interaction_is_doubted(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(structure, "MAX_TRIALS", 2_000)
    found = misfit(-2.0, 2, seed=1)
    assert found.doubted == 2
    assert found.proved_wrong == 0
    assert not caplog.records  # doubts are counted, not printed
