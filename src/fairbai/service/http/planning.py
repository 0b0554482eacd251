"""Plans: what an experiment will cost, before it begins."""

from typing import Any

from fairbai.charts.plans import figures
from fairbai.planning import Plan, plan
from fairbai.planning.plan import DRIFT_PROOF
from fairbai.problems.assumptions import proved_if
from fairbai.problems.checks import Numbers
from fairbai.problems.factor_forms import means_by
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.short_forms import family_of
from fairbai.service.domain.ranges import check_scale
from fairbai.service.domain.refusals import invalid
from fairbai.service.domain.wording import by_label
from fairbai.service.http import forms


def planned(form: forms.Plan) -> dict[str, Any]:
    """The answer to a plan; a Refusal says what is wrong with an invalid one."""
    try:
        _check_family(family_of(form.family))
        given = (form.family, form.floors, form.delta, form.arms, form.daily)
        return _answer(plan(_means(form), *given, **form.question()), form.drifts)
    except ValueError as error:
        raise invalid(by_label(str(error), form.arms)) from None


def _check_family(family: Family) -> None:
    check_scale(family)
    if isinstance(family, Gaussian) and family.unknown_variance and family.guess is None:
        example = '{"kind": "gaussian", "variance": null, "guess": 4.0}'
        raise ValueError(f"guess must be given to plan with an unknown variance, such as {example}")


def _means(form: forms.Plan) -> Numbers:
    if form.effects is not None:
        if form.difference is not None:
            raise ValueError("effects must stand alone, or difference and baseline without effects")
        return means_by(form.means, form.effects, form.baseline, family_of(form.family))
    if form.means is not None:
        if form.difference is not None or form.baseline is not None:
            raise ValueError("means must stand alone, or difference and baseline without means")
        if len(form.means) != len(form.arms):
            raise ValueError(f"means must be as many as arms ({len(form.arms)}), got {len(form.means)}")
        return form.means
    if form.difference is None or form.baseline is None:
        raise ValueError("means must be given, or difference and baseline, or, with factors, effects")
    better = form.difference if form.goal == "max" else -form.difference
    return [form.baseline] * (len(form.arms) - 1) + [form.baseline + better]


def _answer(found: Plan, drifts: bool | None) -> dict[str, Any]:
    if drifts and found.design_based is None:
        raise ValueError(
            "drifts needs bernoulli or bounded rewards, and a constant, positive floor for every arm: give these, or "
            "false if your traffic does not change"
        )
    changes = found.design_based is not None and drifts is not False
    if changes:
        found = found.with_stop(DRIFT_PROOF)
    form, missing = found.to_dict(), {} if found.design_based else {DRIFT_PROOF: None}
    names = {"arm": "arm", "mean": "mean", "floor": "floor", "ceiling": "ceiling"}
    shares = [{"share": share} for share in found.shares.tolist()]
    return {
        "best": found.best,
        "allocation": [
            {name: arm[key] for name, key in names.items()} | share
            for arm, share in zip(form["arms"], shares, strict=True)
        ],
        **({"levels": [_level(one) for one in form["levels"]]} if "levels" in form else {}),
        "stop": found.stop,
        "trials": form["trials"] | missing,
        "quantiles": form["quantiles"],
        "regret": form["regret"],
        "price": {"trials": found.expected - found.without_floors, "ratio": found.expected / found.without_floors},
        "days": form["days"] | missing if "days" in form else None,
        "stops": form["stops"],
        "figures": figures(found),
        "proved_if": proved_if(found.instance.family, changes),
        "drifts": changes,
        "experiment": found.experiment,
    }


def _level(form: dict[str, Any]) -> dict[str, Any]:
    return {"factor": form["factor"], "level": form["level"], "floor": form["floor"], "share": form["weight"]}
