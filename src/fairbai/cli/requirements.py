"""What the installed distribution says that it needs, and what is there."""

import importlib.metadata
import re

NAME = "fairbai"
REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+)(?P<extras>\[[^]]*\])?(?P<range>[^;]*)(?:;.*extra == ['"](?P<extra>[\w-]+))?"""
)


def version(name: str) -> str | None:
    """The version of a distribution, or None if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def needed() -> dict[str, str]:
    """What every installation needs: the versions of each distribution, such as ">=2.0,<3"."""
    return _requirements().get(None, {})


def extras() -> dict[str, dict[str, str]]:
    """What each extra needs; extras that only name other extras besides are listed without those."""
    return {extra: packages for extra, packages in _requirements().items() if extra is not None}


def _requirements() -> dict[str | None, dict[str, str]]:
    found: dict[str | None, dict[str, str]] = {}
    try:
        lines = importlib.metadata.requires(NAME) or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    for line in lines:
        match = REQUIREMENT.match(line)
        if match is not None and match["name"] != NAME:
            found.setdefault(match["extra"], {})[match["name"]] = match["range"].strip()
    return found


def found(name: str, needed: str) -> tuple[str | None, bool]:
    """The version of a distribution that is there, and whether it is in a range such as ">=2.0,<3"."""
    there = version(name)
    if there is None:
        return None, False
    return there, all(_holds(there, bound) for bound in needed.split(",") if bound)


def _holds(there: str, bound: str) -> bool:
    """Whether a version is within a bound; our own bounds have no other signs than these two."""
    sign, number = re.fullmatch(r"\s*(>=|<)\s*([\d.]+)\s*", bound).groups()  # type: ignore[union-attr]
    below = _release(there) < _release(number)
    return below if sign == "<" else not below


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without those at its end that are zero: 2.0 and 2 are one release."""
    numbers = [int(part) for part in re.match(r"\d+(?:\.\d+)*", version)[0].split(".")]  # type: ignore[index]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
