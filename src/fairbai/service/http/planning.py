"""Plans: what an experiment will cost, before it begins."""

from typing import Any

from fairbai.charts.plans import figures
from fairbai.planning.plan import Plan, plan
from fairbai.problems import Instance
from fairbai.problems.families import Family
from fairbai.problems.rates import Rate
from fairbai.service.domain.refusals import invalid
from fairbai.service.http import forms


def planned(form: forms.Plan) -> dict[str, Any]:
    """The answer to a plan; a Refusal says what is wrong with one that cannot be."""
    try:
        instance = Instance(_means(form), Family.from_dict(form.family), Rate.from_dict(form.rates))
        found = plan(instance, form.delta, form.arms)
        return _answer(form, found)
    except ValueError as error:
        raise invalid(str(error)) from None


def _means(form: forms.Plan) -> list[float]:
    if form.means is not None:
        if form.difference is not None or form.baseline is not None:
            raise ValueError("means must stand alone, or difference and baseline without means")
        if len(form.means) != len(form.arms):
            raise ValueError(f"means must be as many as arms ({len(form.arms)}), got {len(form.means)}")
        return form.means
    if form.difference is None or form.baseline is None:
        raise ValueError("means must be given, or difference and baseline")
    return [form.baseline] * (len(form.arms) - 1) + [form.baseline + form.difference]


def _answer(form: forms.Plan, found: Plan) -> dict[str, Any]:
    trials = {"heuristic": found.heuristic, "proved": found.proved, "without_floors": found.without_floors}
    columns = (found.instance.means, found.fair.floors, found.fair.ceilings, found.fair.weights)
    names = ("arm", "mean", "floor", "ceiling", "share")
    rows = zip(form.arms, *(column.tolist() for column in columns), strict=True)
    daily = form.daily
    return {
        "best": form.arms[found.fair.best_arm],
        "allocation": [dict(zip(names, row, strict=True)) for row in rows],
        "trials": trials,
        "price": {"trials": found.proved - found.without_floors, "ratio": found.proved / found.without_floors},
        "days": None if daily is None else {name: value / daily for name, value in trials.items()},
        "figures": figures(found),
        "experiment": {
            "arms": form.arms,
            "delta": form.delta,
            "family": found.instance.family.to_dict(),
            "rates": found.instance.rates.to_dict(),
            "stopping": found.stopping.to_dict(),
        },
    }
