"""Experiments with factors: their arms, family and floors, written out from the factors in a request."""

import math
from collections.abc import Mapping
from typing import Any

from fairbai.problems.factor_forms import design_of
from fairbai.problems.factors import Factorial
from fairbai.problems.short_forms import by_factor, has_levels, named_floors, rates_of
from fairbai.service.domain.costs import check_linear
from fairbai.service.http.fields import MAX_ARMS, kind_of, wrong
from fairbai.stopping import LinearMixture


def written_out(form: Any) -> Any:
    """A request to create or plan an experiment, with ``factors`` and ``interactions`` in the family, and arms named.

    Floors by factor, such as ``{"headline": 0.2}`` or ``{"headline": {"old": 0.3}}``, become floors of groups of arms;
    and so do ceilings, such as ``{"kind": "bounded", "ceiling": {"headline": 0.5}}``.
    Everything else is left as it is, for the checks that follow.
    """
    if not isinstance(form, dict):
        return form
    try:
        form = named_floors(form)
    except ValueError as error:
        raise wrong(str(error)) from None
    factors, pairs, family = form.pop("factors", None), form.pop("interactions", None), form.get("family")
    if factors is None and isinstance(family, dict) and family.get("kind") == "factorial":
        if pairs is not None:
            raise wrong("interactions need factors beside them: give both, or both in the family")
        factors, pairs = family.get("factors"), family.get("interactions")
        family = {name: value for name, value in family.items() if name not in ("factors", "interactions")}
    if factors is None:
        if pairs is not None:
            raise wrong("interactions need factors")
        return _with_stop(form)
    try:
        _check_size(factors, pairs)
        design = design_of(factors, pairs, family)
        if form.get("arms") not in (None, list(design.arms)):  # a plan names them
            raise ValueError("arms follow from factors: give one of them")
        form |= {"arms": list(design.arms), "family": design.to_dict()}
        return _with_stop({**form, **_floors(form.get("floors"), design)})
    except ValueError as error:
        raise wrong(str(error)) from None


def _check_size(factors: Any, pairs: Any) -> None:
    """Refuse a large design before it is made, which would take long; whatever else is wrong is found when it is."""
    if not isinstance(factors, Mapping) or not all(isinstance(levels, list) for levels in factors.values()):
        return
    free, arms = {name: len(levels) - 1 for name, levels in factors.items()}, math.prod(map(len, factors.values()))
    if arms > MAX_ARMS:
        raise ValueError(f"factors must have at most {MAX_ARMS:,} combinations, got {arms:,}")
    named = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2] if isinstance(pairs, list) else []
    known = [pair for pair in named if all(isinstance(name, str) and name in free for name in pair)]
    check_linear(arms, 1 + sum(free.values()) + sum(free[first] * free[second] for first, second in known))


def _with_stop(form: dict[str, Any]) -> dict[str, Any]:
    """The same with the stop for linear arms, if they are and no other is named."""
    linear = kind_of(form.get("family")) in ("linear", "factorial")
    return {"stopping": LinearMixture.kind, **form} if linear else form


def _floors(floors: Any, design: Factorial) -> dict[str, Any]:
    """Limits by factor as limits of groups; nothing if they are something else."""
    limits = by_factor(floors, design) or has_levels(floors, design)
    return {"floors": rates_of(floors, family=design).to_dict()} if limits else {}
