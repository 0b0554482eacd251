"""``fairbai solve`` and ``fairbai plan``: one instance, from flags or a file."""

import argparse
import re
from pathlib import Path
from typing import Any

from fairbai.cli.factors import add_factors
from fairbai.cli.flags import add_json, add_limits, add_question, add_quiet, add_variance, number
from fairbai.cli.logs import COLUMNS, KNOWN, add_columns

FAMILY_HELP = """
the reward family says what a reward is:
  bernoulli      clicks, conversions and other rewards of 0 or 1
  poisson        counts
  exponential    waiting times
  bounded        any numbers from --low to --high, such as revenue with a cap (default: 0 to 1); a --variance is a guess
                 for the plan, which the proof does not use
  gaussian       measurements with normal noise: give the --variance of one, or --variance unknown and a --guess of it
                 (the proof does not use the guess, but needs normal rewards, which revenue is not)
"""
FILE_HELP = """
a file for --file may have any of these keys:
  arms = ["new", "old", "plain"]
  means = [1.0, 0.5, 0.0]
  family = { kind = "gaussian", variance = 2.0 }   # or variance = "unknown", guess = 2.0
  floors = 0.1      # or [0.1, 0.2, 0.3], { new = 0.3 }; rates = { kind = "inverse_gap", p0 = 0.7 } if learned
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
  fairbai solve --factors size=s,m,l color=red,blue --effects size=m:0.4,l:0.1 color=red:0.2 --floors size=0.2
"""
PLAN_EXAMPLES = """examples:
  fairbai plan --means 0.12 0.10 0.09 --family bernoulli --floors 0.2 --per-day 5000
  fairbai plan --means 2 1 0 --variance 1 4 4 --rates softmax --p0 0.6 --temperature 2
  fairbai plan --means 2 1 0 --variance unknown --guess 4
  fairbai plan --means 12 10 --low 0 --high 400 --variance 400 --floors 0.2
  fairbai plan --means 0.12 0.10 --arms new old --family bernoulli --json > plan.json
  fairbai plan --means 0.10 0.10 0.09 --family bernoulli --floors 0.1 --tolerance 10%
  fairbai plan --means 210 200 --arms new old --variance 900 --goal min --tolerance 5 --control old
  fairbai plan --factors page=a,b,c button=1,2 --effects page=b:0.2 button=2:0.1 --variance 0.25 --floors page=0.2
  fairbai plan --from log.csv --arm variant --reward bought --floors 0.2 --per-day 5000

With --from, the means come from a log, and the trials are a range: a log knows the means only roughly.
fairbai simulate plan.json tries the plan out.
"""


class _Floors(argparse.Action):
    """Floors by name may be given in parts; of numbers, the last ones count."""

    def __call__(
        self, _parser: argparse.ArgumentParser, options: argparse.Namespace, values: Any, _flag: str | None = None
    ) -> None:
        together = [*(getattr(options, self.dest) or ()), *values]
        setattr(options, self.dest, together if all("=" in text for text in together) else values)


def add_instance(parser: argparse.ArgumentParser) -> None:
    """The options that describe an instance."""
    parser.add_argument("--file", type=Path, metavar="TOML", help="read the instance from a file; flags override it")
    parser.add_argument(
        "--means", type=number, nargs="+", metavar="MEAN", help="the mean reward of every arm: 0.12, or 12%%"
    )
    parser.add_argument("--arms", nargs="+", metavar="LABEL", help="labels of the arms (default: their numbers)")
    parser.add_argument("--family", metavar="NAME", help="bernoulli, bounded, poisson, exponential or gaussian")
    add_limits(parser)
    add_variance(parser)
    parser.add_argument(
        "--guess", type=number, nargs="+", metavar="V", help="of unknown variances: one, or one per arm"
    )
    parser.add_argument(
        "--floors",
        nargs="+",
        action=_Floors,
        metavar="P",
        help="guaranteed share: one, one per arm, or by label such as new=0.3 or new=30%%",
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
    parser.add_argument("--p0", type=number, help="the sum of such floors")
    parser.add_argument("--temperature", type=float, help="of softmax rates (default 1)")
    parser.add_argument("--delta", type=number, help="probability of a wrong answer, in (0, 1/2) (default 0.05)")
    add_question(parser)
    add_factors(parser)
    add_json(parser)
    add_quiet(parser)
    # argparse takes -1e-3 for a flag; its own pattern of negative numbers has no exponent
    vars(parser)["_negative_number_matcher"] = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?%?$")


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
