"""The ``fairbai`` command."""

import argparse
import json
import math
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairbai import __version__
from fairbai.allocation import expected_trials, lower_bound, price_of_fairness, solve
from fairbai.problems import Family, Instance, rates
from fairbai.problems.checks import confidence
from fairbai.simulation import Study, sweep
from fairbai.simulation.sweep import read_study
from fairbai.simulation.tables import aligned

EXAMPLES = {
    "solve": """examples:
  fairbai solve --means 1 0.5 0 --floors 0.1
  fairbai solve --means 0.12 0.10 0.09 --family bernoulli --floors 0.1 0.2 0.3 --delta 0.01
  fairbai solve --means 3 1 2 --rates inverse_gap --p0 0.7 --json
""",
    "plan": """examples:
  fairbai plan --means 0.12 0.10 0.09 --family bernoulli --floors 0.2 --per-day 5000
  fairbai plan --means 2 1 0 --variance 1 4 4 --rates softmax --p0 0.6 --temperature 2
""",
    "simulate": """examples:
  fairbai simulate study.toml
  fairbai simulate study.toml --runs 10000 --output results

a study file:
  deltas = [0.1, 0.01]
  runs = 1000                      # also: seed, settle, maximum_rounds, histogram

  [instances.linear]
  means = [1.0, 0.5, 0.0]
  family = "gaussian"              # or { kind = "gaussian", variance = 2.0 }
  rates = { kind = "constant", floor = 0.1 }

  [sampling]
  f-tas = "fair_track_and_stop"
  top-two = { kind = "fair_top_two", margin = 1.0 }

  [stopping]
  proved = "mixture"
  paper = "heuristic"
""",
    "compare": """examples:
  fairbai compare study-results
  fairbai compare study-results --json
""",
}
STOPPING_NOTE = "for an asymptotically optimal rule and the (heuristic) threshold log((1 + log t) / delta)"
FILE_HELP = """
a file for --file may have any of these keys:
  means = [1.0, 0.5, 0.0]
  family = { kind = "gaussian", variance = 2.0 }
  rates = { kind = "constant", floor = 0.1 }
  delta = 0.05
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0, 2 where the input is wrong, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
    except (ValueError, OSError, ImportError) as error:
        print(f"fairbai: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fairbai: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairbai",
        description="Find the best of K options with confidence 1 - delta, while every option gets its share.",
    )
    parser.add_argument("--version", action="version", version=f"fairbai {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    about = "the optimal allocation of an instance beside its floors, and the price of fairness"
    _add_instance(_add_command(commands, "solve", about, _solve, FILE_HELP))
    about = "how many trials an experiment will take, with its floors and without"
    plan = _add_command(commands, "plan", about, _plan, FILE_HELP)
    _add_instance(plan)
    plan.add_argument("--per-day", type=float, metavar="N", help="trials a day, to tell the days as well")
    about = "many runs of rules on instances, as a study file describes them; the same command resumes"
    _add_simulate(_add_command(commands, "simulate", about, _simulate))
    about = "the table of a study: stopping time, errors, violation, share of the lower bound"
    compare = _add_command(commands, "compare", about, _compare)
    compare.add_argument("folder", type=Path, help="the output of fairbai simulate, finished or not")
    compare.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _add_command(
    commands: Any, name: str, about: str, function: Callable[[argparse.Namespace], None], more: str = ""
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=EXAMPLES[name] + more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=function)
    return parser


def _add_simulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", type=Path, help="the study, a TOML file")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where results go (default: STUDY-results)")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of every cell, instead of the file's")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_instance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", type=Path, metavar="TOML", help="read the instance from a file; flags go before it")
    parser.add_argument("--means", type=float, nargs="+", metavar="MEAN", help="the mean reward of every arm")
    parser.add_argument("--family", help="gaussian (default), bernoulli, poisson or exponential")
    parser.add_argument("--variance", type=float, nargs="+", metavar="V", help="of Gaussian arms: one, or one an arm")
    parser.add_argument("--floors", type=float, nargs="+", metavar="P", help="guaranteed share: one, or one an arm")
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
    if options.floors is not None and options.rates is not None:
        raise ValueError("give --floors or --rates, not both")
    if options.rates is None and (options.p0 is not None or options.temperature is not None):
        raise ValueError("--p0 and --temperature belong to --rates, which is missing")
    if options.floors is not None:
        return {
            "kind": "constant",
            "floor": options.floors[0] if len(options.floors) == 1 else options.floors,
        }
    if options.rates is None:
        return None
    form = {"kind": options.rates, "p0": options.p0, "temperature": options.temperature}
    return {key: value for key, value in form.items() if value is not None}


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
                "weight": float(best.weights[arm]),
                "weight_without_floors": float(free.weights[arm]),
                "at_floor": bool(best.at_floor[arm]),
                "expected_trials": trials * float(best.weights[arm]),
            }
            for arm in range(instance.means.size)
        ],
    }


def _solve(options: argparse.Namespace) -> None:
    instance, delta = _question(options)
    report = _report(instance, delta)
    if options.json:
        print(json.dumps(_finite(report), indent=2, allow_nan=False))
        return
    print(f"best arm {report['best_arm']} of {instance.means.size} {instance.family.kind} arms\n")
    _print_table(
        ["arm", "mean", "floor p", "w*", "w*_p", ""],
        [
            [
                str(arm["arm"]),
                f"{arm['mean']:g}",
                f"{arm['floor']:.4f}",
                f"{arm['weight_without_floors']:.4f}",
                f"{arm['weight']:.4f}",
                "at its floor" if arm["at_floor"] else "",
            ]
            for arm in report["arms"]
        ],
    )
    bound = f"at most {report['price_upper_bound']:.4g}"
    _print_table(
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


def _plan(options: argparse.Namespace) -> None:
    instance, delta = _question(options)
    report = _report(instance, delta)
    trials, free = report["expected_trials"], report["expected_trials_without_floors"]
    if options.per_day is not None:
        if not 0.0 < options.per_day < math.inf:
            raise ValueError(f"per-day must be positive, got {options.per_day!r}")
        report["days"] = trials / options.per_day
    if options.json:
        print(json.dumps(_finite(report), indent=2, allow_nan=False))
        return
    days = f" ({report['days']:.1f} days)" if "days" in report else ""
    print(f"About {_count(trials)} trials{days} find the best arm with {100 * (1 - delta):g} % confidence.")
    print(f"Without floors it would be {_count(free)}: fairness costs {_count(trials - free)} trials, a factor of")
    print(f"{report['price_of_fairness']:.3f} (never more than {report['price_upper_bound']:.3f}).\n")
    _print_table(
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


def _simulate(options: argparse.Namespace) -> None:
    form = read_study(options.study)
    if options.runs is not None:
        form["runs"] = options.runs
    output = options.output or Path(f"{options.study.stem}-results")
    try:
        study = sweep(**form, output=output, progress=not options.quiet)
    except KeyboardInterrupt:
        print(f"fairbai: what is done is in {output}; the same command goes on from there", file=sys.stderr)
        raise
    _print_study(study, options.json)
    if not options.json:
        print(f"\nruns are in {output}")


def _compare(options: argparse.Namespace) -> None:
    _print_study(Study.open(options.folder), options.json)


def _print_study(study: Study, as_json: bool) -> None:
    print(json.dumps(_finite(study.to_dicts()), indent=2, allow_nan=False) if as_json else study)


def _print_table(header: list[str] | None, rows: list[list[str]]) -> None:
    print(aligned(header, rows), end="\n\n")


def _finite(value: Any) -> Any:
    """``value`` for JSON, which has no infinity: null stands for it."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _count(number: float) -> str:
    return f"{math.ceil(number):,}" if math.isfinite(number) else "infinitely many"
