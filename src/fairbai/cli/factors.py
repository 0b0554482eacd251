"""Multivariate tests on the command line: the flags of factors, and floors for their levels."""

import argparse
from typing import Any

from fairbai.cli.flags import fraction_of, number

FACTORS_HELP = """
a file for a multivariate test has these keys instead of arms and means:
  factors = { headline = ["old", "new"], button = ["buy", "try"] }
  effects = { headline = { new = 0.2 }, button = { try = 0.1 } }   # or means, one per combination
  baseline = 0.5                              # the mean where no level adds anything (default 0)
  interactions = [["headline", "button"]]     # factors that may strengthen or weaken each other
  floors = { headline = 0.2, button = { try = 0.4 } }
  family = { kind = "gaussian", variance = 0.25 }
"""
EXAMPLE = "headline=old,new"


def add_factors(parser: argparse.ArgumentParser) -> None:
    """The options that describe a multivariate test."""
    factors = parser.add_argument_group("a multivariate test, instead of arms and means")
    factors.add_argument(
        "--factors",
        nargs="+",
        action="extend",
        metavar="FACTOR=LEVELS",
        help=f"a factor and its levels: {EXAMPLE}; the arms are all combinations; --floors and --ceilings may be by "
        "factor such as headline=0.2, or by level such as button=try:0.4",
    )
    factors.add_argument(
        "--effects",
        nargs="+",
        action="extend",
        metavar="FACTOR=EFFECTS",
        help="what levels add to the mean: headline=old:0,new:0.05 (default 0)",
    )
    factors.add_argument("--baseline", type=number, metavar="MEAN", help="the mean where no level adds anything")
    factors.add_argument(
        "--interactions",
        nargs="+",
        action="extend",
        metavar="FACTOR,FACTOR",
        help="two factors that may strengthen or weaken each other",
    )


def factors_given(options: argparse.Namespace) -> dict[str, Any]:
    """What the flags say about factors, in the form that files and requests have."""
    form: dict[str, Any] = {}
    if options.factors is not None:
        form["factors"] = _by_name("factors", options.factors, lambda text: text.split(","), EXAMPLE)
    if options.effects is not None:
        form["effects"] = _by_name("effects", options.effects, _by_level, "headline=old:0,new:0.05")
    if options.baseline is not None:
        form["baseline"] = options.baseline
    if options.interactions is not None:
        form["interactions"] = [text.split(",") for text in options.interactions]
    return form


def shares_of_levels(texts: list[str], name: str = "floors") -> dict[str, Any]:
    """The floors or ceilings that ``headline=0.2 button=try:0.4`` stand for."""
    return _by_name(name, texts, _share, "headline=0.2 or button=try:0.4")


def _by_name(name: str, texts: list[str], parsed: Any, example: str) -> dict[str, Any]:
    """Values by factor; those of one factor that are given in parts become one."""
    found: dict[str, Any] = {}
    for text in texts:
        factor, equals, given = text.partition("=")
        try:
            if not equals or not factor.strip():
                raise ValueError
            value = parsed(given)
        except ValueError:
            raise ValueError(f"{name} must be such as {example}, got {text!r}") from None
        if factor not in found:
            found[factor] = value
        elif isinstance(found[factor], dict) and isinstance(value, dict) and not found[factor].keys() & value.keys():
            found[factor] |= value
        else:
            raise ValueError(f"{name} must have every factor and level once, got {text!r} again")
    return found


def _by_level(text: str) -> dict[str, float]:
    pairs = [part.rpartition(":") for part in text.split(",")]
    if not all(colon for _, colon, _ in pairs) or len({level for level, *_ in pairs}) < len(pairs):
        raise ValueError
    return {level: fraction_of(text) for level, _, text in pairs}


def _share(text: str) -> float | dict[str, float]:
    return _by_level(text) if ":" in text else fraction_of(text)
