"""One small report, made once for all tests of this package.

Modules that use it are marked with ``xdist_group("report")``, so that they run on one worker.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairbai.cli import main
from fairbai.reproduction import reproduce
from fairbai.reproduction.errata import Erratum
from fairbai.reproduction.past.section import Section
from fairbai.reproduction.studies import Results

RUNS = 4


@pytest.hookimpl(tryfirst=True)  # before the selection by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a whole report are tests of a whole system."""
    for item in items:
        if "report" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.system)


@dataclass(frozen=True)
class SmallReport:
    """What ``fairbai reproduce all`` wrote, and what it was made from; seed 0."""

    runs: int
    folder: Path
    results: Results
    errata: list[Erratum]
    sections: dict[str, Section]


@pytest.fixture(scope="package")
def report(tmp_path_factory: pytest.TempPathFactory) -> SmallReport:
    folder = tmp_path_factory.mktemp("report")
    kept: dict[str, Any] = {}

    def keep(name: str) -> Callable[..., Any]:
        make = getattr(reproduce, name)

        def kept_too(*arguments: Any) -> Any:
            made = make(*arguments)
            made = made if isinstance(made, Results) else list(made)
            kept[name] = pickle.loads(pickle.dumps(made))  # a copy: figures are cleared when they are saved
            return made

        return kept_too

    with pytest.MonkeyPatch.context() as patch:
        for name in ("run_studies", "sections", "errata"):
            patch.setattr(reproduce, name, keep(name))
        assert main(["reproduce", "all", "--runs", str(RUNS), "--output", str(folder), "--quiet"]) == 0
    sections = {section.name: section for section in kept["sections"]}
    return SmallReport(RUNS, folder, kept["run_studies"], kept["errata"], sections)
