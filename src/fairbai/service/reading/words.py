"""How sentences name arms, counts and shares."""

from fairbai.identifier.sentences import percent

SURE_AT_ALL = 0.01  # a confidence below it is not worth a number


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


def moment(iso: str) -> str:
    """A time, to the minute."""
    return f"{iso[:10]} at {iso[11:16]} UTC"
