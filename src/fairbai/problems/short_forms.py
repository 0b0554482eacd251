"""Short forms of families and rates, the same in Python, TOML, JSON and over HTTP: "bernoulli", 0.1, {"a": 0.3}."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbai.problems.checks import Numbers, fraction
from fairbai.problems.configured import Form
from fairbai.problems.factors import Factorial
from fairbai.problems.families import Family
from fairbai.problems.labels import some
from fairbai.problems.linear import Linear
from fairbai.problems.rates import Bounded, Constant, Overlapping, Rate
from fairbai.problems.rates.overlapping import overlapping
from fairbai.problems.sentences import listed

FamilyForm = Family | Form | None
RateForm = Rate | float | Numbers | Form | None

NO_LIMIT = {"floor": 0.0, "ceiling": 1.0}
FAMILY_MISSING = (
    'family must be given: "bernoulli" for clicks, conversions and other rewards of 0 or 1; "poisson" for counts; '
    '"exponential" for waiting times; "bounded", with low and high, for any other rewards in an interval; '
    '"gaussian", with its variance, for measurements with a known noise level, or with variance None if it is unknown'
)
WITH_VARIANCE = ("gaussian", "linear", "factorial")


def family_of(form: FamilyForm) -> Family:
    """A family, given as itself, as its kind, or in its JSON form; there is no default for None, or for a variance.

    Example:
        >>> family_of("bernoulli"), family_of({"kind": "gaussian", "variance": 4.0})
        (Bernoulli(), Gaussian(variance=4.0))
    """
    if form is None:
        raise ValueError(FAMILY_MISSING)
    if isinstance(form, (str, Mapping)):
        check_variance(form)
    return Family.of(form)


def check_variance(form: Form) -> None:
    """Refuse the form of a family with a known variance that is not given: 1 would be no more than a guess."""
    given = {"kind": form} if isinstance(form, str) else form
    if given.get("kind") in WITH_VARIANCE and "variance" not in given:
        kind = given["kind"]
        unknown = ', or "unknown" in place of 4.0 if it has to be learned' if kind == "gaussian" else ""
        raise ValueError(
            f'{kind} rewards need their variance, such as {{"kind": "{kind}", "variance": 4.0}}{unknown}; for rewards '
            f'that have limits, use "bounded" with low and high'
        )


def shares_given(floors: RateForm, rates: RateForm) -> RateForm:
    """The shares that a caller gave under either name: ``floors``, or ``rates`` for those that are learned.

    Example:
        >>> shares_given(0.1, None)
        0.1
    """
    if floors is not None and rates is not None:
        raise ValueError("floors and rates are two names for the same shares: give one of them")
    return rates if floors is None else floors


def named_floors(form: Mapping[str, Any]) -> dict[str, Any]:
    """A question in JSON or TOML with its shares under ``floors``, though it may have them under ``rates``."""
    found = dict(form)
    if "rates" in found:
        found["floors"] = shares_given(found.get("floors"), found.pop("rates"))
    return found


def arms_of(arms: Sequence[Any] | None, family: Family) -> Sequence[Any] | None:
    """The labels as given or, if there are none, those of the combinations of a factorial design."""
    return family.arms if arms is None and isinstance(family, Factorial) else arms


def rates_of(form: RateForm, labels: Sequence[Any] | None = None, family: Family | None = None) -> Rate:
    """Rates, given as themselves, as floors, or in their JSON form; None is no floors.

    Args:
        form: A rate; one floor for all arms; a list with one floor per arm; ``{"kind": ...}``; or, if there are labels,
            floors by label, such as ``{"a": 0.3}``, where arms that are not named have no floor.
            Every share may be in percent: "10%" is 0.1.
        labels: The labels of the arms, in their order. Groups hold arms by label then, too, and in ``{"kind": ...}``
            floors and ceilings may be by label.
        family: The reward family. With a factorial design, floors may be by factor: ``{"headline": 0.2}``, and
            those and ceilings in ``{"kind": "bounded", "ceiling": {"headline": 0.5}}``.

    Example:
        >>> rates_of(0.1), rates_of({"a": 0.3}, labels=["a", "b"])
        (Constant(floor=0.1), Constant(floor=array([0.3, 0. ])))
    """
    form = fraction(form)
    if form is None:
        return Constant()
    if isinstance(form, Mapping):
        if isinstance(family, Factorial):
            if by_factor(form, family):
                return family.rates(form)
            if has_levels(form, family):
                return limits_of_levels(form, family)
            if not isinstance(form.get("kind"), str):
                _check_combinations(form, family)
        form = _in_order(form if isinstance(form.get("kind"), str) else {"kind": "constant", "floor": form}, labels)
    if isinstance(form, (Rate, dict, str)):
        rate = Rate.of(form)
        if isinstance(rate, Bounded) and labels is not None:
            rate = rate.numbered(labels)
        if isinstance(rate, Bounded) and isinstance(family, Linear):
            return overlapping(rate, len(family.features))
        return rate
    if isinstance(form, (bool, np.bool_)) or not isinstance(form, (int, float, np.number, Sequence, np.ndarray)):
        raise ValueError(f"floors must be shares such as 0.1, or a rate such as fairbai.rates.Gap(0.5), got {form!r}")
    return Constant(form)  # type: ignore[arg-type]  # it checks


def by_factor(form: Any, family: Factorial) -> bool:
    """Whether rates are floors by factor, such as ``{"headline": 0.2}``; a factor may be called "kind"."""
    if not isinstance(form, Mapping) or not form or isinstance(form.get("kind"), str):
        return False
    return all(name in family.factors for name in form)


def has_levels(form: Any, family: Factorial) -> bool:
    """Whether rates are of the kind "bounded" and have limits by factor, such as ``"ceiling": {"headline": 0.5}``."""
    if not isinstance(form, Mapping) or form.get("kind") != "bounded":
        return False
    return any(by_factor(form.get(name), family) for name in NO_LIMIT)


def limits_of_levels(form: Mapping[str, Any], family: Factorial) -> Overlapping:
    """The limits of a form that ``has_levels``; a floor or a ceiling that is one number is for every combination."""
    for name in form:
        if name not in ("kind", *NO_LIMIT) and form[name]:
            raise ValueError(f"limits by factor take floor and ceiling, got {name!r}")
    by_level = {name: form[name] for name in NO_LIMIT if isinstance(form.get(name), Mapping)}
    every = {**NO_LIMIT, **form, **{name: NO_LIMIT[name] for name in by_level}}
    return family.rates(by_level.get("floor", {}), every["floor"], by_level.get("ceiling", {}), every["ceiling"])


def _check_combinations(form: Mapping[str, Any], family: Factorial) -> None:
    """Floors that are not by factor must be by combination."""
    known = listed([repr(factor) for factor in family.factors])
    expected = f"floors must be by factor ({known}), or all by combination such as {family.arms[0]!r}"
    combinations = [name for name in form if name in family.arms]
    for name in form:
        if name not in family.arms and name not in family.factors:
            raise ValueError(f"{expected}, got {name!r}")
    for name in form:
        if name not in family.arms:
            raise ValueError(f"{expected}, not both, got {name!r} and {combinations[0]!r}")


def _in_order(form: Mapping[str, Any], labels: Sequence[Any] | None) -> dict[str, Any]:
    """The JSON form of rates, with a list instead of shares by label: what is not named has no limit."""
    by_label = {name: form[name] for name in NO_LIMIT if isinstance(form.get(name), Mapping)}
    for name, shares in by_label.items():
        if labels is None:
            raise ValueError(f"a {name} by label needs the labels of the arms, got {dict(shares)!r} for numbered arms")
        for label, share in shares.items():
            if label not in labels:
                raise ValueError(f"a {name} must be for an arm of {some(labels)}, got {label!r}")
            if not isinstance(fraction(share), (int, float, np.number)):
                raise ValueError(f"{name} of {label!r} must be a number, got {share!r}")
    lists = {name: [shares.get(label, NO_LIMIT[name]) for label in labels or ()] for name, shares in by_label.items()}
    return {**form, **lists}
