"""A grid of simulations: instances x rules x thresholds x deltas."""

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fairbai.experiment import Settling
from fairbai.experiment.defaults import default_sampling
from fairbai.experiment.settling import checked_settling
from fairbai.problems.checks import whole
from fairbai.problems.configured import Form
from fairbai.problems.factor_forms import KEYS, written_out
from fairbai.problems.instance import Instance
from fairbai.problems.labels import labels_for
from fairbai.problems.question import question_of
from fairbai.problems.short_forms import arms_of, family_of, named_floors, rates_of
from fairbai.sampling import SamplingRule
from fairbai.simulation.engine import chunks_of, run_chunks
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.runs import Runs
from fairbai.simulation.scenario import Scenario, make_scenario
from fairbai.simulation.simulate import MAX_RUNS
from fairbai.simulation.study import Cell, ChunkFolder, Study, claim, describe
from fairbai.stopping import StoppingRule

Part = TypeVar("Part", SamplingRule, StoppingRule)
UNIT = {"kind": "gaussian", "variance": 1.0}  # the rewards of an instance that names no family
FILE_KEYS = ("instances", "sampling", "stopping", "deltas", "settle", "runs", "seed", "maximum_rounds", "histogram")


def sweep(
    instances: Mapping[str, Instance],
    sampling: Mapping[str, SamplingRule | Form] | Sequence[SamplingRule | Form],
    stopping: Mapping[str, StoppingRule | Form] | Sequence[StoppingRule | Form],
    deltas: float | Sequence[float] = 0.05,
    settle: bool | Settling | Sequence[bool | Settling] = False,
    runs: int = 1000,
    seed: int = 0,
    maximum_rounds: int = 1_000_000,
    histogram: bool = False,
    output: str | Path | None = None,
    progress: bool | None = None,
) -> Study:
    """``simulate`` for every instance, sampling rule and stopping rule.

    With an ``output`` folder every chunk of runs is written there as Parquet when it is done. After Ctrl-C, or with
    more ``runs``, the same call goes on where it stopped; a folder that holds another study is refused.

    Args:
        instances: Instances by name.
        sampling: Sampling rules, or their kinds, by name; in a list they are named by their kind.
        stopping: Stopping rules likewise.
        deltas: As for ``simulate``.
        settle: Whether to settle, or how, as for ``simulate``; or a list, such as [False, True].
        runs: How many for every cell of the grid.
        seed: Of the random streams; every cell uses the same.
        maximum_rounds: As for ``simulate``.
        histogram: As for ``simulate``.
        output: The folder to keep the results in.
        progress: Whether to show a progress bar; by default, only on a terminal, after a second.

    Example:
        >>> import fairbai as fb
        >>> study = fb.sweep(
        ...     instances={"easy": fb.Instance([1.0, 0.0]), "hard": fb.Instance([0.5, 0.0])},
        ...     sampling=[fb.sampling.FairTopTwo(), fb.sampling.UniformFair()],
        ...     stopping=[fb.stopping.Mixture()],
        ...     runs=100,
        ... )
        >>> [runs.stopping_time.shape for runs in study.results.values()]
        [(100, 1), (100, 1), (100, 1), (100, 1)]
    """
    if not isinstance(instances, Mapping) or not instances:
        raise ValueError(f"instances must be a dictionary of instances by name, got {instances!r}")
    rules, thresholds = _named(SamplingRule, sampling), _named(StoppingRule, stopping)  # type: ignore[type-abstract]
    both: Any = settle if isinstance(settle, (list, tuple, np.ndarray)) else [settle]
    settles = [checked_settling(one) for one in both]
    if not settles or len(set(settles)) < len(settles):
        raise ValueError(f"settle must be true, false, a Settling, or different ones of them, got {settle!r}")
    cells = {
        Cell(name, rule, threshold, settled): make_scenario(
            instances[name], deltas, rules[rule], thresholds[threshold], settled, seed, maximum_rounds, histogram
        )
        for name, rule, threshold, settled in itertools.product(instances, rules, thresholds, settles)
    }
    count = whole("runs", runs, 1, MAX_RUNS)
    if output is None:
        return _in_memory(cells, count, progress)
    return _in_folder(cells, count, Path(output), progress)


def _named(base: type[Part], parts: Mapping[str, Part | Form] | Sequence[Part | Form]) -> dict[str, Part]:
    named: dict[str, Part] = {}
    if isinstance(parts, Mapping):
        named = {name: base.of(part) for name, part in parts.items()}
    elif isinstance(parts, Sequence) and not isinstance(parts, str):
        named = {part.kind: part for part in map(base.of, parts)}
    if not named or len(named) < len(parts):
        raise ValueError(
            f"{base.argument} must be one or more rules of different kinds, or rules by name, got {parts!r}"
        )
    return named


def _in_memory(cells: dict[Cell, Scenario], count: int, progress: bool | None) -> Study:
    found: dict[Cell, list[Runs]] = {cell: [] for cell in cells}
    tasks = [
        (cell, piece) for cell in cells for piece in chunks_of(count, cells[cell].maximum_rounds, cells=len(cells))
    ]
    for cell, part in _run(cells, tasks, progress):
        found[cell].append(part)
    return Study({cell: Runs.join(parts) for cell, parts in found.items()})


def _in_folder(cells: dict[Cell, Scenario], count: int, root: Path, progress: bool | None) -> Study:
    claim(root, describe(cells))
    folders = {cell: ChunkFolder(root, index) for index, cell in enumerate(cells)}
    tasks = [
        (cell, piece)
        for cell, folder in folders.items()
        for first, gap in folder.missing(count)
        for piece in chunks_of(gap, cells[cell].maximum_rounds, first, len(cells))
    ]
    for cell, part in _run(cells, tasks, progress, count * len(cells)):
        folders[cell].save(part)
    return Study.open(root, count)


def _run(
    cells: dict[Cell, Scenario],
    tasks: list[tuple[Cell, tuple[int, int]]],
    progress: bool | None,
    total: int | None = None,
) -> Iterator[tuple[Cell, Runs]]:
    """The runs of all tasks, as they are done."""
    todo = sum(piece[1] for _, piece in tasks)
    total = todo if total is None else total
    with progress_bar(total, progress, total - todo) as bar:
        for index, part in run_chunks([(cells[cell], *piece) for cell, piece in tasks]):
            yield tasks[index][0], part
            bar.update(len(part))


def read_study(path: str | Path) -> dict[str, Any]:
    """The arguments of ``sweep`` from a TOML file (docs/simulation.md describes it) or the JSON file of a plan."""
    if Path(path).suffix == ".json":
        return _read_plan(path)
    try:
        form = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    for key in form:
        if key not in FILE_KEYS:
            raise ValueError(f"{path} may have the keys {', '.join(FILE_KEYS)}, got {key!r}")
    form.setdefault("stopping", {"mixture": "mixture"})
    for key in ("instances", "sampling", "stopping"):
        if not isinstance(form.get(key), dict) or not form[key]:
            raise ValueError(f"{path} must have a table [{key}] with at least one entry")
    form["instances"] = {name: _instance(name, entry) for name, entry in form["instances"].items()}
    form["sampling"] = {name: SamplingRule.from_dict(entry) for name, entry in form["sampling"].items()}
    form["stopping"] = {name: StoppingRule.from_dict(entry) for name, entry in form["stopping"].items()}
    return form


def _read_plan(path: str | Path) -> dict[str, Any]:
    """The study of one experiment as ``fairbai plan --json`` describes it, with the default sampling rule."""
    try:
        form = json.loads(Path(path).read_text(encoding="utf-8"))
        means = [arm["mean"] for arm in form["arms"]]
        instance = {key: form[key] for key in ("family", "floors")}
        instance |= {key: form[key] for key in ("tolerance", "goal", "control") if key in form}
        instance |= {"means": means, "arms": [arm["arm"] for arm in form["arms"]]}
        parts = {key: form[key] for key in ("stopping", "delta")}
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not a plan: give the output of fairbai plan --json, or a TOML file") from None
    planned, stopping = _instance("plan", instance), StoppingRule.from_dict(parts["stopping"])
    return {
        "instances": {"plan": planned},
        "sampling": [default_sampling(stopping, planned.rates, planned.means.size, planned.family)],
        "stopping": {"proved": stopping},
        "deltas": parts["delta"],
        "settle": True,
    }


def _instance(name: str, form: Any) -> Instance:
    allowed = ("arms", "family", "floors", "rates", "tolerance", "goal", "control", *KEYS)
    if not isinstance(form, dict) or not {"means", "effects"} & form.keys() or not form.keys() <= {"means", *allowed}:
        raise ValueError(f"instance {name} must have means or effects and may have {', '.join(allowed)}, got {form!r}")
    form = named_floors(written_out({"family": UNIT, **form}))
    family = family_of(form["family"])
    labels = labels_for(arms_of(form.get("arms"), family), form["means"])
    asked = question_of(form.get("goal", "max"), form.get("tolerance"), form.get("control"), labels)
    rates = rates_of(form.get("floors"), labels, family)
    return Instance(form["means"], family, rates, asked.tolerance, asked.goal, asked.control)
