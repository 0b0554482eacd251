"""What ``fairbai solve`` and ``fairbai plan`` print."""

import argparse
import math
from typing import Any

from fairbai.allocation import expected_trials, lower_bound, price_of_fairness, solve
from fairbai.cli.instances import question
from fairbai.cli.printing import print_json, print_table
from fairbai.problems import Family, Instance, rates
from fairbai.problems.checks import confidence

STOPPING_NOTE = "for an asymptotically optimal rule and the (heuristic) threshold log((1 + log t) / delta)"


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
    """Everything that ``solve`` and ``plan`` tell about an instance."""
    best, price = solve(instance), price_of_fairness(instance)
    free = solve(Instance(instance.means, instance.family))
    trials, free_trials = expected_trials(price.fair, delta), expected_trials(price.unconstrained, delta)
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
        "expected_trials": trials,
        "expected_trials_without_floors": free_trials,
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
                "expected_trials": trials * float(best.weights[arm]),
            }
            for arm in range(instance.means.size)
        ],
    }


def print_solution(options: argparse.Namespace) -> None:
    """Print the allocation of an instance beside its floors."""
    instance, delta = _question(options)
    report = _report(instance, delta)
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
            ["expected trials", _count(report["expected_trials"]), STOPPING_NOTE],
        ],
    )


def print_plan(options: argparse.Namespace) -> None:
    """Print how many trials an experiment will take."""
    instance, delta = _question(options)
    report = _report(instance, delta)
    trials, free = report["expected_trials"], report["expected_trials_without_floors"]
    if options.per_day is not None:
        if not 0.0 < options.per_day < math.inf:
            raise ValueError(f"per-day must be positive, got {options.per_day!r}")
        report["days"] = trials / options.per_day
    if options.json:
        print_json(report)
        return
    days = f" ({report['days']:.1f} days)" if "days" in report else ""
    print(f"About {_count(trials)} trials{days} find the best arm with {100 * (1 - delta):g} % confidence.")
    print(f"Without floors it would be {_count(free)}: fairness costs {_count(trials - free)} trials, a factor of")
    print(f"{report['price_of_fairness']:.3f} (never more than {report['price_upper_bound']:.3f}).\n")
    print_table(
        ["arm", "mean", "floor", "share", "trials"],
        [
            [
                str(arm["arm"]),
                f"{arm['mean']:g}",
                f"{arm['floor']:.2%}",
                f"{arm['weight']:.2%}",
                _count(arm["expected_trials"]),
            ]
            for arm in report["arms"]
        ],
    )
    least = report["lower_bound"]
    least = f"{math.floor(least):,}" if math.isfinite(least) else "infinitely many"
    print(f"Every fair rule needs at least {least} trials on average (the lower bound).")
    print(f"Expected trials are {STOPPING_NOTE}.")


def _count(number: float) -> str:
    return f"{math.ceil(number):,}" if math.isfinite(number) else "infinitely many"
