"""Plans: what an experiment will cost, before it begins."""

from typing import Any

from fairbai.charts.plans import figures
from fairbai.planning import Plan, plan
from fairbai.service.domain.refusals import invalid
from fairbai.service.http import forms


def planned(form: forms.Plan) -> dict[str, Any]:
    """The answer to a plan; a Refusal says what is wrong with an invalid one."""
    try:
        return _answer(plan(_means(form), form.family, form.rates, form.delta, form.arms, form.daily), form.drifts)
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


def _answer(found: Plan, drifts: bool | None) -> dict[str, Any]:
    form, stop = found.to_dict(), found.design_based
    if drifts and stop is None:
        raise ValueError(
            "drifts needs bernoulli or bounded rewards, and a constant, positive floor for every arm: give these, or "
            "false if your traffic does not change"
        )
    changes = stop is not None and drifts is not False
    trials = None if stop is None else found.drift_proof
    days = form.get("days")
    names = {"arm": "arm", "mean": "mean", "floor": "floor", "ceiling": "ceiling", "share": "weight"}
    return {
        "best": found.best,
        "allocation": [{name: arm[key] for name, key in names.items()} for arm in form["arms"]],
        "trials": {**form["trials"], "drift_proof": trials},
        "quantiles": form["quantiles"],
        "price": {"trials": found.proved - found.without_floors, "ratio": found.proved / found.without_floors},
        "days": days and {**days, "drift_proof": None if trials is None else trials / (found.per_day or 1.0)},
        "figures": figures(found),
        "drifts": changes,
        "experiment": found.experiment | (_drift_proof(found) if changes else {}),
    }


def _drift_proof(found: Plan) -> dict[str, Any]:
    """The stop for traffic that changes, and as what it counts tickets without a reward: as the least there is."""
    assert found.design_based is not None
    silence = max(0.0, found.instance.family.low)
    return {"stopping": found.design_based.to_dict(), "report_after": forms.DAY, "silence": silence}
