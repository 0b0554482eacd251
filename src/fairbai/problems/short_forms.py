"""Short forms of families and rates, the same in Python, TOML, JSON and over HTTP: "bernoulli", 0.1, {"a": 0.3}."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbai.problems.checks import Numbers
from fairbai.problems.families import Family
from fairbai.problems.rates import Constant, Rate

FamilyForm = Family | str | Mapping[str, Any] | None
RateForm = Rate | float | Numbers | str | Mapping[str, Any] | None


FAMILY_MISSING = (
    'family must be given: "bernoulli" for clicks, conversions and other rewards of 0 or 1; "poisson" for counts; '
    '"exponential" for waiting times; "gaussian", with its variance, for measurements with a known noise level'
)


def family_of(form: FamilyForm) -> Family:
    """A family, given as itself, as its kind, or in its JSON form; there is no default for None.

    Example:
        >>> family_of("bernoulli"), family_of({"kind": "gaussian", "variance": 4.0})
        (Bernoulli(), Gaussian(variance=4.0))
    """
    if form is None:
        raise ValueError(FAMILY_MISSING)
    if isinstance(form, Family):
        return form
    if isinstance(form, (str, Mapping)):
        return Family.from_dict(form if isinstance(form, str) else dict(form))
    raise ValueError(f"family must be a family such as fairbai.Bernoulli() or 'bernoulli', got {form!r}")


def rates_of(form: RateForm, labels: Sequence[Any] | None = None) -> Rate:
    """Rates, given as themselves, as floors, or in their JSON form; None is no floors.

    Args:
        form: A rate; one floor for all arms; a list with one floor per arm; ``{"kind": ...}``; or, if there are labels,
            floors by label, such as ``{"a": 0.3}``, where arms that are not named have no floor.
        labels: The labels of the arms, in their order.

    Example:
        >>> rates_of(0.1), rates_of({"a": 0.3}, labels=["a", "b"])
        (Constant(floor=0.1), Constant(floor=array([0.3, 0. ])))
    """
    if form is None:
        return Constant()
    if isinstance(form, Rate):
        return form
    if isinstance(form, str) or (isinstance(form, Mapping) and isinstance(form.get("kind"), str)):
        return Rate.from_dict(form if isinstance(form, str) else dict(form))
    if isinstance(form, Mapping):
        return Constant(_by_label(form, labels))
    if isinstance(form, (bool, np.bool_)) or not isinstance(form, (int, float, np.number, Sequence, np.ndarray)):
        raise ValueError(f"rates must be a rate such as fairbai.rates.Constant(0.1), or floors, got {form!r}")
    return Constant(form)  # type: ignore[arg-type]  # it checks


def _by_label(form: Mapping[Any, Any], labels: Sequence[Any] | None) -> list[Any]:
    if labels is None:
        raise ValueError(f"rates by label need labels, got {dict(form)!r} for arms that have only numbers")
    for label in form:
        if label not in labels:
            raise ValueError(f"rates must name arms of this experiment, got {label!r}; its arms are {list(labels)}")
    return [form.get(label, 0.0) for label in labels]
