"""How sentences name arms, counts and shares."""

import math
import re

from fairbai.identifier.sentences import SURE_AT_ALL, percent

NARROW = "\u202f"  # a narrow space that does not break
NONE = "–"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def quoted(label: str) -> str:
    """A label in a sentence."""
    return f"“{label}”"


def listed(labels: list[str]) -> str:
    """Labels in a sentence; only the first few if there are many."""
    shown = [quoted(label) for label in labels[:3]]
    if len(labels) > 3:
        return f"{', '.join(shown)} and {len(labels) - 3} more"
    return shown[0] if len(shown) == 1 else " and ".join([", ".join(shown[:-1]), shown[-1]])


def count(number: float, thing: str) -> str:
    """A count with its noun."""
    return f"{number:,.0f} {thing}{'' if round(number) == 1 else 's'}"


def percentage(share: float, digits: int | None = None) -> str:
    """A share in percent, with the significant digits."""
    value = 100.0 * share
    if digits is not None:
        return f"{value:.{digits}f} %"
    return f"{value:.12g} %" if value > 99.0 else f"{value:.4g} %"


def span(shares: list[float]) -> str:
    """The range of some shares."""
    low, high = percentage(min(shares)), percentage(max(shares))
    return low if low == high else f"{low} to {high}"


def rounded(number: float) -> float:
    """An estimate rounded to two significant digits, as it is no more precise."""
    return float(f"{number:.2g}")


def sure(confidence: float) -> str:
    """A confidence, rounded down."""
    return "and that is no more than a guess" if confidence < SURE_AT_ALL else f"{percent(confidence)} sure"


def duration(seconds: float) -> str:
    """A time in its largest unit: 1 day, 90 minutes."""
    units = (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))
    name, size = next(unit for unit in units if unit[0] == "second" or seconds % unit[1] == 0.0)
    amount = f"{seconds / size:,g}"
    return f"{amount} {name}{'' if amount == '1' else 's'}"


# --- as the pages format them, in format.js ---------------------------------------------------------------------


def together(text: str) -> str:
    """A sentence in which no line breaks between a number and its percent sign."""
    return re.sub(r"(?<=\d) %", f"{NARROW}%", text)


def short_percentage(share: float) -> str:
    """A share in percent, with at most two decimals."""
    text = f"{100.0 * share:.2f}".rstrip("0").rstrip(".")
    return f"{'0' if text == '-0' else text}{NARROW}%"


def decimal(value: float | None) -> str:
    """A number with four significant digits, and without an exponent."""
    if value is None:
        return NONE
    digits = 0 if value == 0.0 else max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{float(f'{value:.4g}'):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def mean(value: float | None, kind: str = "") -> str:
    """A mean of rewards of a family; of yes-or-no rewards it is a share."""
    return NONE if value is None else short_percentage(value) if kind == "bernoulli" else decimal(value)


def interval(ends: list[float | None], kind: str = "") -> str:
    """An interval of means; an end that is missing is infinite."""
    low, high = ends
    return f"{'−∞' if low is None else mean(low, kind)} to {'∞' if high is None else mean(high, kind)}"


def moment(iso: str) -> str:
    """A time, to the minute, in which no line breaks inside a date."""
    day, month = int(iso[8:10]), MONTHS[int(iso[5:7]) - 1]
    return f"{day}\u00a0{month}\u00a0{iso[:4]} at {iso[11:16]}\u00a0UTC"
