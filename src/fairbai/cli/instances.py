"""``fairbai solve`` and ``fairbai plan``: one instance, from flags or a file."""

import argparse
import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

from fairbai.allocation import expected_trials, lower_bound, price_of_fairness, solve
from fairbai.cli.printing import finite, print_table
from fairbai.problems import Family, Instance, rates
from fairbai.problems.checks import confidence

FILE_HELP = """
a file for --file may have any of these keys:
  means = [1.0, 0.5, 0.0]
  family = { kind = "gaussian", variance = 2.0 }
  rates = { kind = "constant", floor = 0.1 }
  delta = 0.05
"""
SOLVE_EXAMPLES = """examples:
  fairbai solve --means 1 0.5 0 --floors 0.1
  fairbai solve --means 0.12 0.10 0.09 --family bernoulli --floors 0.1 0.2 0.3 --delta 0.01
  fairbai solve --means 3 1 2 --rates inverse_gap --p0 0.7 --json
  fairbai solve --means 1 0.8 0.5 0 --floors 0.05 --ceilings 0.4 --group 2,3:0.5
"""
PLAN_EXAMPLES = """examples:
  fairbai plan --means 0.12 0.10 0.09 --family bernoulli --floors 0.2 --per-day 5000
  fairbai plan --means 2 1 0 --variance 1 4 4 --rates softmax --p0 0.6 --temperature 2
"""
STOPPING_NOTE = "for an asymptotically optimal rule and the (heuristic) threshold log((1 + log t) / delta)"


def add_instance(parser: argparse.ArgumentParser) -> None:
    """The options that describe an instance."""
    parser.add_argument("--file", type=Path, metavar="TOML", help="read the instance from a file; flags go before it")
    parser.add_argument("--means", type=float, nargs="+", metavar="MEAN", help="the mean reward of every arm")
    parser.add_argument("--family", help="gaussian (default), bernoulli, poisson or exponential")
    parser.add_argument("--variance", type=float, nargs="+", metavar="V", help="of Gaussian arms: one, or one an arm")
    parser.add_argument("--floors", type=float, nargs="+", metavar="P", help="guaranteed share: one, or one an arm")
    parser.add_argument("--ceilings", type=float, nargs="+", metavar="U", help="largest share: one, or one an arm")
    parser.add_argument(
        "--group",
        action="append",
        metavar="ARMS:FLOOR",
        help="share that arms are guaranteed together, such as 2,3:0.5; may be given again for other arms",
    )
    parser.add_argument(
        "--rates",
        metavar="KIND",
        help="proportional, softmax, inverse_gap or gap: floors that follow the means",
    )
    parser.add_argument("--p0", type=float, help="the sum of such floors")
    parser.add_argument("--temperature", type=float, help="of softmax rates (default 1)")
    parser.add_argument("--delta", type=float, help="probability of a wrong answer, in (0, 1/2) (default 0.05)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    # argparse takes -1e-3 for a flag; its own pattern of negative numbers has no exponent
    vars(parser)["_negative_number_matcher"] = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")


def _question(options: argparse.Namespace) -> tuple[Instance, float]:
    """The instance and delta from the flags and the file."""
    form: dict[str, Any] = {}
    if options.file is not None:
        try:
            form = tomllib.loads(options.file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{options.file} is not a TOML file: {error}") from None
        for key in form:
            if key not in ("means", "family", "rates", "delta"):
                raise ValueError(f"{options.file} may have the keys means, family, rates and delta, got {key!r}")
    if options.means is not None:
        form["means"] = options.means
    if "means" not in form:
        raise ValueError("means are missing: give --means or a file with means")
    if options.variance is not None:
        variance = options.variance[0] if len(options.variance) == 1 else options.variance
        given = form.get("family", "gaussian") if options.family is None else options.family
        form["family"] = {**({"kind": given} if isinstance(given, str) else given), "variance": variance}
    elif options.family is not None:
        form["family"] = options.family
    if (given := _rates(options)) is not None:
        form["rates"] = given
    instance = Instance(
        form["means"],
        Family.from_dict(form.get("family", "gaussian")),
        rates.Rate.from_dict(form.get("rates", "constant")),
    )
    return instance, confidence(form.get("delta", 0.05) if options.delta is None else options.delta)


def _rates(options: argparse.Namespace) -> dict[str, Any] | None:
    """The JSON form of the rates that the flags describe, if they do."""
    limited = options.ceilings is not None or options.group is not None
    if options.rates is not None and (options.floors is not None or limited):
        raise ValueError("give --rates, or --floors, --ceilings and --group, not both")
    if options.rates is None and (options.p0 is not None or options.temperature is not None):
        raise ValueError("--p0 and --temperature belong to --rates, which is missing")
    if limited:
        groups = [_group(text) for text in options.group or ()]
        ceiling = _one_or_all(options.ceilings or [1.0])
        return {"kind": "bounded", "floor": _one_or_all(options.floors or [0.0]), "ceiling": ceiling, "groups": groups}
    if options.floors is not None:
        return {"kind": "constant", "floor": _one_or_all(options.floors)}
    if options.rates is None:
        return None
    form = {"kind": options.rates, "p0": options.p0, "temperature": options.temperature}
    return {key: value for key, value in form.items() if value is not None}


def _one_or_all(numbers: list[float]) -> float | list[float]:
    return numbers[0] if len(numbers) == 1 else numbers


def _group(text: str) -> dict[str, Any]:
    """The group that ``2,3:0.5`` stands for."""
    arms, _, floor = text.partition(":")
    try:
        return {"arms": [int(arm) for arm in arms.split(",")], "floor": float(floor)}
    except ValueError:
        raise ValueError(f"group must be arms and a floor such as 2,3:0.5, got {text!r}") from None


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


def run_solve(options: argparse.Namespace) -> None:
    """Print the allocation of an instance beside its floors."""
    instance, delta = _question(options)
    report = _report(instance, delta)
    if options.json:
        print(json.dumps(finite(report), indent=2, allow_nan=False))
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


def run_plan(options: argparse.Namespace) -> None:
    """Print how many trials an experiment will take."""
    instance, delta = _question(options)
    report = _report(instance, delta)
    trials, free = report["expected_trials"], report["expected_trials_without_floors"]
    if options.per_day is not None:
        if not 0.0 < options.per_day < math.inf:
            raise ValueError(f"per-day must be positive, got {options.per_day!r}")
        report["days"] = trials / options.per_day
    if options.json:
        print(json.dumps(finite(report), indent=2, allow_nan=False))
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
