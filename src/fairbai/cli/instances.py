"""``fairbai solve`` and ``fairbai plan``: one instance, from flags or a file."""

import argparse
import re
import tomllib
from pathlib import Path
from typing import Any

from fairbai.cli.flags import add_json, add_question, add_quiet, tolerance_of
from fairbai.cli.logs import COLUMNS, KNOWN, add_columns

KEYS = ("arms", "means", "family", "rates", "delta", "tolerance", "goal", "control")
FAMILY_HELP = """
the reward family says what a reward is:
  bernoulli      clicks, conversions and other rewards of 0 or 1
  poisson        counts
  exponential    waiting times
  gaussian       measurements with a known noise level: give its --variance
"""
FILE_HELP = """
a file for --file may have any of these keys:
  arms = ["new", "old", "plain"]
  means = [1.0, 0.5, 0.0]
  family = { kind = "gaussian", variance = 2.0 }
  rates = 0.1       # or [0.1, 0.2, 0.3], { new = 0.3 }, { kind = "inverse_gap", p0 = 0.7 }
  delta = 0.05
  tolerance = 0.1   # or "10%": how far from the best the answer may be
  goal = "min"      # if less is better
  control = "old"   # the arm that another must beat
"""
SOLVE_EXAMPLES = """examples:
  fairbai solve --means 1 0.5 0 --floors 0.1
  fairbai solve --means 0.12 0.10 0.09 --family bernoulli --floors 0.1 0.2 0.3 --delta 0.01
  fairbai solve --means 3 1 2 --rates inverse_gap --p0 0.7 --json
  fairbai solve --means 1 0.8 0.5 0 --floors 0.05 --ceilings 0.4 --group 2,3:0.5
  fairbai solve --means 1 0.8 0.5 --arms a b c --floors b=0.2 c=0.3
"""
PLAN_EXAMPLES = """examples:
  fairbai plan --means 0.12 0.10 0.09 --family bernoulli --floors 0.2 --per-day 5000
  fairbai plan --means 2 1 0 --variance 1 4 4 --rates softmax --p0 0.6 --temperature 2
  fairbai plan --means 0.12 0.10 --arms new old --family bernoulli --json > plan.json
  fairbai plan --means 0.10 0.10 0.09 --family bernoulli --floors 0.1 --tolerance 10%
  fairbai plan --means 210 200 --arms new old --variance 900 --goal min --tolerance 5 --control old
  fairbai plan --from log.csv --arm variant --reward bought --floors 0.2 --per-day 5000

With --from, the means come from a log, and the trials are a range: a log knows the means only roughly.
fairbai simulate plan.json tries the plan out.
"""


def add_instance(parser: argparse.ArgumentParser) -> None:
    """The options that describe an instance."""
    parser.add_argument("--file", type=Path, metavar="TOML", help="read the instance from a file; flags override it")
    parser.add_argument("--means", type=float, nargs="+", metavar="MEAN", help="the mean reward of every arm")
    parser.add_argument("--arms", nargs="+", metavar="LABEL", help="labels of the arms (default: their numbers)")
    parser.add_argument("--family", metavar="NAME", help="bernoulli, poisson, exponential or gaussian")
    parser.add_argument("--variance", type=float, nargs="+", metavar="V", help="of Gaussian arms: one, or one per arm")
    parser.add_argument(
        "--floors", nargs="+", metavar="P", help="guaranteed share: one, one per arm, or by label such as new=0.3"
    )
    parser.add_argument("--ceilings", nargs="+", metavar="U", help="largest share: one, one per arm, or by label")
    parser.add_argument(
        "--group",
        action="append",
        metavar="ARMS:SHARE",
        help="share of some arms, by label or number, together: 2,3:0.5 (at least), 2,3:..0.6 (at most) or "
        "2,3:0.5..0.6; may be repeated",
    )
    parser.add_argument(
        "--rates",
        metavar="KIND",
        help="proportional, softmax, inverse_gap or gap: floors that follow the means",
    )
    parser.add_argument("--p0", type=float, help="the sum of such floors")
    parser.add_argument("--temperature", type=float, help="of softmax rates (default 1)")
    parser.add_argument("--delta", type=float, help="probability of a wrong answer, in (0, 1/2) (default 0.05)")
    add_question(parser)
    add_json(parser)
    add_quiet(parser)
    # argparse takes -1e-3 for a flag; its own pattern of negative numbers has no exponent
    vars(parser)["_negative_number_matcher"] = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")


def add_plan(parser: argparse.ArgumentParser) -> None:
    """The options of ``fairbai plan``."""
    add_instance(parser)
    parser.add_argument("--per-day", type=float, metavar="N", help="trials per day, to report days as well")
    log = parser.add_argument_group("planning from a log")
    log.add_argument("--from", dest="log", type=Path, metavar="LOG", help="a CSV or Parquet file, instead of means")
    log.add_argument("--limit", type=float, metavar="N", help="trials beyond which nobody would go on (default: 1e6)")
    add_columns(log)


def run_solve(options: argparse.Namespace) -> None:
    """Print the allocation of an instance beside its floors."""
    from fairbai.cli.solving import print_solution

    print_solution(options)


def run_plan(options: argparse.Namespace) -> None:
    """Print how many trials an experiment will take."""
    from fairbai.cli.solving import print_next_plan, print_plan

    if options.log is not None:
        print_next_plan(options)
        return
    for name in (*COLUMNS, *KNOWN, "limit"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} belongs to a log, which is missing: give --from")
    print_plan(options)


def question(options: argparse.Namespace) -> dict[str, Any]:
    """The arms, means, family, rates and delta from the flags and the file, as far as they are given."""
    form: dict[str, Any] = {}
    if options.file is not None:
        try:
            form = tomllib.loads(options.file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{options.file} is not a TOML file: {error}") from None
        for key in form:
            if key not in KEYS:
                raise ValueError(f"{options.file} may have the keys {', '.join(KEYS)}, got {key!r}")
    plain = ("arms", "means", "delta", "goal", "control")
    form |= {name: given for name in plain if (given := getattr(options, name)) is not None}
    if options.tolerance is not None:
        form["tolerance"] = tolerance_of(options.tolerance)
    if "arms" not in form and isinstance(form.get("control"), str) and form["control"].isdecimal():
        form["control"] = int(form["control"])
    if "means" not in form:
        raise ValueError("means are missing: give --means or a file with means")
    if options.variance is not None:
        variance = options.variance[0] if len(options.variance) == 1 else options.variance
        given = form.get("family", "gaussian") if options.family is None else options.family
        form["family"] = {**({"kind": given} if isinstance(given, str) else given), "variance": variance}
    elif options.family is not None:
        form["family"] = options.family
    if (rates := rates_given(options, form.get("arms"))) is not None:
        form["rates"] = rates
    return form


def rates_given(options: argparse.Namespace, labels: list[str] | None) -> Any:
    """The rates that the flags describe, if they do, in a form that every part of fairbai takes."""
    limited = options.ceilings is not None or options.group is not None
    if options.rates is not None and (options.floors is not None or limited):
        raise ValueError("give --rates, or --floors, --ceilings and --group, not both")
    if options.rates is None and (options.p0 is not None or options.temperature is not None):
        raise ValueError("--p0 and --temperature belong to --rates, which is missing")
    if limited:
        groups = [_group(text, labels) for text in options.group or ()]
        floor, ceiling = _shares("floors", options.floors or ["0"]), _shares("ceilings", options.ceilings or ["1"])
        return {"kind": "bounded", "floor": floor, "ceiling": ceiling, "groups": groups}
    if options.floors is not None:
        return _shares("floors", options.floors)
    if options.rates is None:
        return None
    form = {"kind": options.rates, "p0": options.p0, "temperature": options.temperature}
    return {key: value for key, value in form.items() if value is not None}


def asked_of(form: dict[str, Any]) -> dict[str, Any]:
    """What the answer must be, as the functions of fairbai take it."""
    return {name: form[name] for name in ("tolerance", "goal", "control") if name in form}


def _one_or_all(numbers: list[float]) -> float | list[float]:
    return numbers[0] if len(numbers) == 1 else numbers


def _shares(name: str, texts: list[str]) -> float | list[float] | dict[str, float]:
    """The shares that ``0.1``, ``0.1 0.3`` or ``new=0.1 old=0.3`` stand for."""
    pairs = [text.rpartition("=") for text in texts]
    try:
        if all(equals for _, equals, _ in pairs):
            return {label: float(share) for label, _, share in pairs}
        return _one_or_all([float(text) for text in texts])
    except ValueError:
        raise ValueError(f"{name} must be numbers, or all by label such as new=0.3, got {' '.join(texts)!r}") from None


def _group(text: str, labels: list[str] | None) -> dict[str, Any]:
    """The group that ``2,3:0.5``, ``new,old:..0.6`` or ``2,3:0.5..0.6`` stands for; labels come before numbers."""
    arms, _, share = text.rpartition(":")
    known = labels or ()
    members = [int(arm) if arm not in known and arm.isdecimal() else arm for arm in arms.split(",")]
    floor, dots, ceiling = share.partition("..")
    try:
        limits = {} if dots and not floor else {"floor": float(floor)}
        limits |= {"ceiling": float(ceiling)} if dots else {}
    except ValueError:
        raise ValueError(f"group must be arms and a share such as 2,3:0.5 or 2,3:0.5..0.6, got {text!r}") from None
    return {"arms": members, **limits}
