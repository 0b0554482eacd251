"""One instance and what is asked of it, from flags and a file."""

import argparse
import tomllib
from pathlib import Path
from typing import Any

from fairbai.cli.factors import factors_given, shares_of_levels
from fairbai.cli.flags import fraction_of, tolerance_of, variance_of
from fairbai.problems.factor_forms import KEYS as FACTOR_KEYS
from fairbai.problems.factor_forms import written_out
from fairbai.problems.factors import Factorial
from fairbai.problems.short_forms import named_floors

KEYS = ("arms", "means", "family", "floors", "rates", "delta", "tolerance", "goal", "control", *FACTOR_KEYS)
MISSING = "means are missing: give --means or a file with means; or, for a multivariate test, --factors and --effects"


def question(options: argparse.Namespace, family: dict[str, Any] | None = None) -> dict[str, Any]:
    """The arms, means, family, floors and delta from the flags and the file, as far as they are given.

    Args:
        options: The flags.
        family: The reward family if none is named; None if it must be.
    """
    form = {} if options.file is None else _read(options.file)
    plain = ("arms", "means", "delta", "goal", "control")
    form |= {name: given for name in plain if (given := getattr(options, name)) is not None}
    form |= factors_given(options)
    if options.tolerance is not None:
        form["tolerance"] = tolerance_of(options.tolerance)
    if "arms" not in form and isinstance(form.get("control"), str) and form["control"].isdecimal():
        form["control"] = int(form["control"])
    if "means" not in form and "effects" not in form:
        raise ValueError(MISSING)
    if (given := _family_given(options, form)) is not None:
        form["family"] = given
    elif family is not None:
        form.setdefault("family", family)
    form = named_floors(written_out(form))
    if (given := rates_given(options, form.get("arms"), _is_factorial(form.get("family")))) is not None:
        form["floors"] = given
    return form


def _is_factorial(family: Any) -> bool:
    return isinstance(family, Factorial) or (isinstance(family, dict) and family.get("kind") == Factorial.kind)


def _read(file: Path) -> dict[str, Any]:
    try:
        form = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not a TOML file: {error}") from None
    for key in form:
        if key not in KEYS:
            raise ValueError(f"{file} may have the keys {', '.join(KEYS)}, got {key!r}")
    return form


def _family_given(options: argparse.Namespace, form: dict[str, Any]) -> Any:
    """The family that the flags describe, if they do."""
    if limits := {name: one for name in ("low", "high") if (one := getattr(options, name)) is not None}:
        return _bounded_given(options, form, limits)
    if options.variance is None:
        if options.guess is not None:
            raise ValueError("--guess is for unknown variances: give --variance unknown beside it")
        if options.family == "gaussian":
            raise ValueError("--family gaussian needs --variance: a number, one per arm, or unknown with a --guess")
        return options.family
    given = form.get("family", "gaussian") if options.family is None else options.family
    family = {**({"kind": given} if isinstance(given, str) else given), "variance": variance_of(options.variance)}
    return family if options.guess is None else {**family, "guess": _one_or_all(options.guess)}


def _bounded_given(options: argparse.Namespace, form: dict[str, Any], limits: dict[str, float]) -> dict[str, Any]:
    """Bounded rewards between limits; a variance is a guess."""
    given = form.get("family", "bounded") if options.family is None else options.family
    family = given if isinstance(given, dict) else {"kind": given}
    if family.get("kind") != "bounded":
        raise ValueError(f"--low and --high are for bounded rewards, got the family {family.get('kind')} beside them")
    if options.guess is not None or options.variance == ["unknown"]:
        raise ValueError("--low and --high need no unknown variance: --variance is a guess, or leave it out")
    variance = {} if options.variance is None else {"variance": variance_of(options.variance)}
    return {**family, **limits, **variance}


def rates_given(options: argparse.Namespace, labels: list[str] | None, factorial: bool = False) -> Any:
    """The rates that the flags describe, if they do, in a form that every part of fairbai takes."""
    limited = options.ceilings is not None or options.group is not None
    if options.rates is not None and (options.floors is not None or limited):
        raise ValueError("give --rates, or --floors, --ceilings and --group, not both")
    if options.rates is None and (options.p0 is not None or options.temperature is not None):
        raise ValueError("--p0 and --temperature belong to --rates, which is missing")
    if factorial:
        _check_limits_only(options)
    if limited:
        groups = [_group(text, labels) for text in options.group or ()]
        given = ("floors", options.floors or ["0"]), ("ceilings", options.ceilings or ["1"])
        floor, ceiling = (_shares_of(name, texts, factorial) for name, texts in given)
        return {"kind": "bounded", "floor": floor, "ceiling": ceiling, "groups": groups}
    if options.floors is not None:
        return _shares_of("floors", options.floors, factorial)
    if options.rates is None:
        return None
    form = {"kind": options.rates, "p0": options.p0, "temperature": options.temperature}
    return {key: value for key, value in form.items() if value is not None}


def _check_limits_only(options: argparse.Namespace) -> None:
    """Refuse rates that a multivariate test cannot have."""
    for name in ("group", "rates"):
        if getattr(options, name) is not None:
            example = "0.02, headline=0.2 or button=try:0.4"
            raise ValueError(f"a multivariate test has --floors and --ceilings, such as {example}, but not --{name}")


def _shares_of(name: str, texts: list[str], factorial: bool) -> Any:
    """Shares of arms or, in a multivariate test, of levels."""
    by_level = factorial and any("=" in text for text in texts)
    return shares_of_levels(texts, name) if by_level else _shares(name, texts)


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
            return {label: fraction_of(share) for label, _, share in pairs}
        return _one_or_all([fraction_of(text) for text in texts])
    except ValueError:
        raise ValueError(f"{name} must be numbers, or all by label such as new=0.3, got {' '.join(texts)!r}") from None


def _group(text: str, labels: list[str] | None) -> dict[str, Any]:
    """The group that ``2,3:0.5``, ``new,old:..0.6`` or ``2,3:0.5..0.6`` stands for; labels come before numbers."""
    arms, _, share = text.rpartition(":")
    known = labels or ()
    members = [int(arm) if arm not in known and arm.isdecimal() else arm for arm in arms.split(",")]
    floor, dots, ceiling = share.partition("..")
    try:
        limits = {} if dots and not floor else {"floor": fraction_of(floor)}
        limits |= {"ceiling": fraction_of(ceiling)} if dots else {}
    except ValueError:
        raise ValueError(f"group must be arms and a share such as 2,3:0.5 or 2,3:0.5..0.6, got {text!r}") from None
    return {"arms": members, **limits}
