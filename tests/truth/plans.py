"""Findings about plans."""

import joblib
import numpy as np

import fairbai as fb
from fairbai.service.http import forms
from fairbai.service.http.planning import planned
from tests.truth.finding import Figure, Finding
from tests.truth.twelve_plans import TWELVE, compared

QUICK = ("choose_floors.md", "commands.md", "dashboard.md, ten arms", "waiting times, no floors")
QUICK_WORK = 2e7
CAPPED = fb.Bounded(0.0, 2000.0, variance=500.0)
OVER_HTTP = {"arms": ["a", "b"], "means": [2.28, 2.45], "delta": 0.05, "rates": 0.1, "daily": 4300.0}


def _first_stop() -> Figure:
    """Every figure of a plan against the stop that ends first."""
    found = fb.plan([2.28, 2.45], CAPPED, rates=0.1, per_day=4300)
    form = found.to_dict()
    first = min(found.proved, found.drift_proof)
    http = planned(forms.Plan.model_validate({**OVER_HTTP, "family": CAPPED.to_dict(), "drifts": False}))
    told = f"About {np.ceil(found.expected):,.0f} trials"
    same = (
        found.expected == first == form["trials"]["expected"] == http["trials"]["expected"],
        form["days"]["expected"] == first / 4300 == http["days"]["expected"],
        http["quantiles"] == form["quantiles"] == vars(found.duration),
        found.duration.p10 < first < found.duration.p90,
        form["stopping"] == found.experiment["stopping"] == http["experiment"]["stopping"],
        form["stopping"] == form["stops"][form["stop"]] == found.stopping.to_dict(),
        sum(arm["expected_trials"] for arm in form["arms"]) > 0.999 * first,
        repr(found).startswith(told) and "Mixture" in repr(found) and f"fb.stopping.{found.stopping!r}" in repr(found),
        found.lower_bound < first < 2.0 * found.lower_bound,
    )
    text = f"{first:,.0f} trials everywhere ({found.stop}; the other: {found.proved:,.0f}); {sum(same)} of {len(same)}"
    return Figure(text, all(same))


def _as_simulated() -> Figure:
    """Some of the twelve plans against simulations; all of them: ``python -m tests.truth.twelve_plans``."""
    with joblib.parallel_config(n_jobs=1):
        rows = [row for case in TWELVE if case.name in QUICK for row in compared(case, QUICK_WORK)]
    ratios = ", ".join(f"{row.ratio:.2f}" for row in rows)
    return Figure(f"simulated over planned {ratios}", all(row.holds for row in rows))


def _two_stops() -> Figure:
    """Whether the stops of a plan differ, as what they wait for does."""
    plans = [fb.plan(case.instance, delta=case.delta) for case in TWELVE]
    ratios = [found.drift_proof / found.proved for found in plans if found.design_based is not None]
    equal = sum(ratio == 1.0 for ratio in ratios)
    return Figure(f"{equal} of {len(ratios)} equal; {min(ratios):.2f} to {max(ratios):.2f} times", equal == 0)


FINDINGS: list[Finding] = [
    Finding(
        "trial 2",
        "the stop that a plan names ends first, and every figure is of that stop",
        "16,289,227 trials named, 531,109 with another stop that the report does not mention",
        _first_stop,
    ),
    Finding(
        "trial 3a",
        "planned trials are those that experiments take, within .9 to 1.15",
        "1.28, 1.25, 1.25, 1.13, 1.06, 1.03, .89, .70",
        _as_simulated,
    ),
    Finding("trial 3b", "drift_proof is not proved under another name", "equal in all plans of 0 and 1", _two_stops),
]
