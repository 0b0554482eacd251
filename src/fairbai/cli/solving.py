"""What ``fairbai solve`` and ``fairbai plan`` print."""

import argparse
import math
from typing import Any

from fairbai.allocation import expected_trials, lower_bound, price_of_fairness, solve
from fairbai.cli.instances import question
from fairbai.cli.printing import print_json, print_table
from fairbai.planning.plan import Plan, plan
from fairbai.problems import Family, Instance, rates
from fairbai.problems.checks import confidence

ESTIMATE_NOTE = "with the threshold log((1 + log t) / delta), which is not proved (fairbai plan has a proved one)"


def _question(options: argparse.Namespace) -> tuple[Instance, float]:
    """The instance and delta from the flags and the file."""
    form = question(options)
    instance = Instance(
        form["means"],
        Family.from_dict(form.get("family", "gaussian")),
        rates.Rate.from_dict(form.get("rates", "constant")),
    )
    return instance, confidence(form.get("delta", 0.05))


def _report(instance: Instance, delta: float) -> dict[str, Any]:
    """Everything that ``solve`` and ``plan`` both tell about an instance."""
    best, price = solve(instance), price_of_fairness(instance)
    free = solve(Instance(instance.means, instance.family))
    return {
        "family": instance.family.to_dict(),
        "rates": instance.rates.to_dict(),
        "delta": delta,
        "best_arm": best.best_arm,
        "unconstrained_time": price.unconstrained,
        "characteristic_time": price.fair,
        "duality_gap": best.duality_gap,
        "price_of_fairness": price.ratio,
        "price_upper_bound": price.upper_bound,
        "lower_bound": lower_bound(instance, delta),
        "arms": [
            {
                "arm": arm,
                "mean": float(instance.means[arm]),
                "floor": float(instance.floors[arm]),
                "ceiling": float(best.ceilings[arm]),
                "weight": float(best.weights[arm]),
                "weight_without_floors": float(free.weights[arm]),
                "at_floor": bool(best.at_floor[arm]),
                "at_ceiling": bool(best.at_ceiling[arm]),
            }
            for arm in range(instance.means.size)
        ],
    }


def print_solution(options: argparse.Namespace) -> None:
    """Print the allocation of an instance beside its floors."""
    instance, delta = _question(options)
    report = _report(instance, delta)
    _add_estimate(report)
    if options.json:
        print_json(report)
        return
    print(f"best arm {report['best_arm']} of {instance.means.size} {instance.family.kind} arms\n")
    limited = instance.limits is not None
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
    for group in instance.rates.to_dict().get("groups", ()):
        share = sum(report["arms"][arm]["weight"] for arm in group["arms"])
        print(f"arms {', '.join(map(str, group['arms']))} together: {share:.4f}, floor {group['floor']:.4f}\n")
    bound = f"at most {report['price_upper_bound']:.4g}"
    print_table(
        None,
        [
            ["T*", f"{report['unconstrained_time']:.6g}", "characteristic time without floors"],
            ["T*_p", f"{report['characteristic_time']:.6g}", "with floors"],
            ["price of fairness", f"{report['price_of_fairness']:.4f}", f"T*_p / T*, {bound}"],
            ["duality gap", f"{report['duality_gap']:.1e}", "certified, relative"],
            ["lower bound", f"{report['lower_bound']:,.1f}", f"trials on average for delta = {delta:g}"],
            ["expected trials", _count(report["expected_trials"]), ESTIMATE_NOTE],
        ],
    )


def _add_estimate(report: dict[str, Any]) -> None:
    """About how many trials, which needs no more than the characteristic times."""
    delta = report["delta"]
    trials = expected_trials(report["characteristic_time"], delta)
    report["expected_trials"] = trials
    report["expected_trials_without_floors"] = expected_trials(report["unconstrained_time"], delta)
    for arm in report["arms"]:
        arm["expected_trials"] = trials * arm["weight"]


def print_plan(options: argparse.Namespace) -> None:
    """Print how many trials an experiment will take."""
    instance, delta = _question(options)
    report = _report(instance, delta)
    found = plan(instance, delta)
    trials = {"proved": found.proved, "heuristic": found.heuristic, "without_floors": found.without_floors}
    report.update(stopping=found.stopping.to_dict(), trials=trials)
    if options.per_day is not None:
        if not 0.0 < options.per_day < math.inf:
            raise ValueError(f"per-day must be positive, got {options.per_day!r}")
        report["days"] = {name: value / options.per_day for name, value in trials.items()}
    if options.json:
        print_json(report)
        return
    _print_trials(found, report)
    print_table(
        ["arm", "mean", "floor", "share", "trials"],
        [
            [
                str(arm["arm"]),
                f"{arm['mean']:g}",
                f"{arm['floor']:.2%}",
                f"{arm['weight']:.2%}",
                _count(found.proved * arm["weight"]),
            ]
            for arm in report["arms"]
        ],
    )
    print(f"Every fair rule needs at least {math.floor(report['lower_bound']):,} trials on average (the lower bound).")
    print("Expected trials are an estimate from the means; fairbai simulate tries a plan out.")


def _print_trials(found: Plan, report: dict[str, Any]) -> None:
    """The sentences about the trials of a plan."""
    days = f" ({report['days']['proved']:.1f} days)" if "days" in report else ""
    print(f"About {_count(found.proved)} trials{days} find the best arm with {100 * (1 - found.delta):g} % confidence,")
    print(f"which is proved for the stopping rule fb.stopping.{found.stopping!r}.")
    print(f"The paper's threshold, which is not proved, would take about {_count(found.heuristic)}.")
    price = _count(found.proved - found.without_floors)
    print(f"Without floors it would be {_count(found.without_floors)}: fairness costs {price} trials.")
    ratio, most = report["price_of_fairness"], report["price_upper_bound"]
    print(f"The price of fairness, T*_p / T*, is {ratio:.3f} (never more than {most:.3f}).\n")


def _count(number: float) -> str:
    return f"{math.ceil(number):,}" if math.isfinite(number) else "infinitely many"
