"""What ``fairbai solve`` and ``fairbai plan`` print."""

import argparse
import math
from collections.abc import Iterable, Sequence
from typing import Any

from fairbai.cli.logs import analyzed
from fairbai.cli.printing import print_json, print_table
from fairbai.cli.questions import asked_of, question, rates_given
from fairbai.planning import plan
from fairbai.planning.expected import Forecast
from fairbai.planning.plan import described_instance
from fairbai.planning.text import count
from fairbai.problems import Instance
from fairbai.problems.checks import confidence
from fairbai.problems.factor_forms import KEYS as FACTOR_KEYS
from fairbai.problems.factors import Factorial
from fairbai.problems.labels import labels_for
from fairbai.problems.question import question_of
from fairbai.problems.short_forms import arms_of, family_of, rates_of
from fairbai.stopping import Heuristic

ESTIMATE_NOTE = "with the threshold log((1 + log t) / delta), which is not proved (fairbai plan has a proved one)"


def print_solution(options: argparse.Namespace) -> None:
    """Print the allocation of an instance beside its floors."""
    form = question(options, family={"kind": "gaussian", "variance": 1.0})
    family = family_of(form["family"])
    labels = labels_for(arms_of(form.get("arms"), family), form["means"])
    asked = question_of(form.get("goal", "max"), form.get("tolerance"), form.get("control"), labels)
    rates = rates_of(form.get("floors"), labels, family)
    instance = Instance(form["means"], family, rates, asked.tolerance, asked.goal, asked.control)
    delta = confidence(form.get("delta", 0.05))
    report = described_instance(instance, delta, labels)
    _add_estimate(report, instance)
    if options.json:
        print_json(report)
        return
    answer, arms = "best arm" if asked.plain else "answer", f"{instance.means.size} {instance.family.kind} arms"
    print(f"{answer} {labels[report['best_arm']]} of {arms}\n")
    _print_arms(report, limited=any(arm["ceiling"] < 1.0 for arm in report["arms"]) or instance.limits is not None)
    levels: set[tuple[int, ...]] = set()
    if isinstance(family, Factorial):
        _print_levels(report)
        levels = {one.arms for one in family.effects if one.factor in family.factors}
    groups = instance.rates.to_dict().get("groups", ())
    if family.structured:  # the ceiling of a group of one is in the table of arms
        groups = [group for group in groups if len(group["arms"]) > 1]
    shown = [one for one in groups if "ceiling" in one or tuple(sorted(one["arms"])) not in levels]
    _print_groups(report, shown, labels)
    right = len(instance.acceptable)
    most = "at most about this, " if right > 1 else ""
    among = f" and {right} right answers" if right > 1 else ""
    bound = f"at most {report['price_upper_bound']:.4g}"
    print_table(
        None,
        [
            ["T*", f"{report['unconstrained_time']:.6g}", "characteristic time without floors"],
            ["T*_p", f"{report['characteristic_time']:.6g}", "with floors"],
            ["price of fairness", f"{report['price_of_fairness']:.4f}", f"T*_p / T*, {bound}"],
            ["duality gap", f"{report['duality_gap']:.1e}", "certified, relative"],
            ["lower bound", f"{report['lower_bound']:,.1f}", f"trials on average for delta = {delta:g}{among}"],
            ["expected trials", count(report["expected_trials"]), f"{most}{ESTIMATE_NOTE}"],
        ],
    )


def _print_arms(report: dict[str, Any], limited: bool) -> None:
    """The table with one row per arm."""
    print_table(
        ["arm", "mean", "floor p", *(["ceiling"] if limited else []), "w*", "w*_p", ""],
        [
            [
                str(arm["arm"]),
                f"{arm['mean']:g}",
                f"{arm['floor']:.4f}",
                *([f"{arm['ceiling']:.4f}"] if limited else []),
                f"{arm['weight_without_floors']:.4f}",
                f"{arm['weight']:.4f}",
                "at its floor" if arm["at_floor"] else "at its ceiling" if arm["at_ceiling"] else "",
            ]
            for arm in report["arms"]
        ],
    )


def _print_groups(report: dict[str, Any], groups: Iterable[dict[str, Any]], labels: Sequence[str | int]) -> None:
    for group in groups:
        share = sum(report["arms"][arm]["weight"] for arm in group["arms"])
        names = ", ".join(str(labels[arm]) for arm in group["arms"])
        limits = [f"{limit} {group[limit]:.4f}" for limit in ("floor", "ceiling") if limit in group]
        print(f"arms {names} together: {share:.4f}, {', '.join(limits)}\n")


def _print_levels(report: dict[str, Any]) -> None:
    """The table with one row per level of a factor."""
    levels = report["levels"]
    rows = [[one["factor"], one["level"], f"{one['floor']:.4f}", f"{one['weight']:.4f}"] for one in levels]
    print_table(["factor", "level", "floor p", "w*_p"], rows, words=2)


def _add_estimate(report: dict[str, Any], instance: Instance) -> None:
    """About how many trials with the heuristic threshold, which needs no parameters."""
    forecast = Forecast(instance, Heuristic(), report["delta"])
    trials = forecast.trials(report["characteristic_time"])
    report["expected_trials"] = trials
    report["expected_trials_without_floors"] = forecast.trials(report["unconstrained_time"])
    for arm in report["arms"]:
        arm["expected_trials"] = trials * arm["weight"]


def print_next_plan(options: argparse.Namespace) -> None:
    """Print how many trials an experiment will take whose means come from a log."""
    for name in ("means", "arms", "file", "guess", *FACTOR_KEYS):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} and --from cannot be given together: the log has the arms and their means")
    _check_per_day(options)
    found = analyzed(options.log, options)
    limit = {} if options.limit is None else {"limit": options.limit}
    floors = rates_given(options, [str(label) for label in found.arms.labels])
    planned = found.plan(floors=floors, per_day=options.per_day, **limit)
    if options.json:
        print_json(planned.to_dict())
    else:
        print(planned)


def _check_per_day(options: argparse.Namespace) -> None:
    if options.per_day is not None and not 0.0 < options.per_day < math.inf:
        raise ValueError(f"per-day must be positive, got {options.per_day!r}")


def print_plan(options: argparse.Namespace) -> None:
    """Print how many trials an experiment will take."""
    _check_per_day(options)
    form = question(options)
    given = (form["means"], form.get("family"), form.get("floors"), form.get("delta", 0.05), form.get("arms"))
    found = plan(*given, per_day=options.per_day, **asked_of(form))
    if options.json:
        print_json(found.to_dict())
    else:
        print(found)
