"""Experiments with factors: over HTTP, in what the pages show, and replayed from the log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from fairbai.service.domain import status_answers
from tests.service.running import Local, address, running, tell
from tests.service.test_log import differences

FACTORS = {"headline": ["old", "new"], "button": ["buy", "try", "go"]}
NOISE = {"kind": "gaussian", "variance": 0.25}
FORM: dict[str, Any] = {"name": "page", "factors": FACTORS, "family": NOISE, "delta": 0.05, "seed": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("factors")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Local]:
    with running(address(folder)) as found:
        yield found


def play(client: Local, at: str, interaction: float, trials: int) -> dict[str, Any]:
    """Ask and tell until the stop, or for so many trials; returns the status."""
    rng, effects = random.Random(1), {"old": 0.0, "new": 0.6, "buy": 0.0, "try": 0.5, "go": 0.2}
    for _ in range(trials // 10):
        response = client.post(f"{at}/ask", json={"n": 10})
        if response.status_code == 409:
            break
        rewards = {}
        for one in response.json()["tickets"]:
            levels = one["arm"].split(" / ")
            beyond = interaction if levels == ["new", "try"] else 0.0
            rewards[one["ticket"]] = rng.gauss(sum(effects[level] for level in levels) + beyond, 0.5)
        tell(client, at, rewards)
    return dict(TypeAdapter(status_answers.Status).validate_python(client.get(at).json(), strict=True))


def created(client: Local, **changes: Any) -> str:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 201, response.text
    return f"/v1/experiments/{response.json()['id']}"


def test_from_the_factors_to_the_report(client: Local, folder: Path) -> None:
    at = created(client, floors={"headline": 0.2, "button": {"go": 0.3}})
    status = play(client, at, 0.0, 2_000)
    assert status["stopped"]
    assert status["proved"]
    assert status["recommendation"] == "new / try"
    assert status["config"]["family"]["kind"] == "factorial"
    effects = {one["level"]: one for one in status["effects"]}
    assert set(effects) == {"old", "new", "buy", "try", "go"}
    assert effects["go"]["floor"] == 0.3
    assert effects["go"]["share"] >= 0.3 - 1e-9
    for level, truth in {"new": 0.3, "old": -0.3, "try": 0.8 / 3}.items():
        low, high = effects[level]["interval"]
        assert low < truth < high
    figure = client.get(f"{at}/figures").json()["figures"]["effects"]
    assert [trace["name"] for trace in figure["data"]] == ["headline", "button"]
    report = client.get(f"{at}/report").text
    assert "<h2>Effects</h2>" in report
    assert 'id="figure-effects"' in report
    audit = client.get(f"{at}/audit").json()
    assert audit["promise"]["sentences"][-1] == "When the experiment stops by itself, the floors are met."
    assert audit["promise"]["sentences"][0].endswith("declared variance and the effects in the model add up).")
    assert audit["verdict"] == "Every guaranteed share was given."
    summary = client.get(f"{at}/summary").json()
    assert summary["proved"]
    assert "declared variance and the effects in the model add up, after" in summary["headline"]
    assert not any(differences(folder))


def test_a_missing_interaction_is_doubted(client: Local) -> None:
    at = created(client, delta=1e-9)
    status = play(client, at, -1.5, 1_000)
    assert not status["proved"]
    doubt = next(one for one in status["doubts"] if one["kind"] == "fit")
    assert "the effects of its levels add up to: an interaction is missing from the model" in doubt["reason"]
    assert status["effects"][0]["interval"] == [None, None]
    for call in ("audit", "summary", "report"):
        assert client.get(f"{at}/{call}").status_code == 200, call
    assert client.post(f"{at}/close").status_code == 200
    for call in ("audit", "summary", "report"):
        response = client.get(f"{at}/{call}")
        assert response.status_code == 200, call
        assert "how sure that is cannot be said, because the means are not linear in the features" in response.text


def test_a_void_keeps_the_doubt(client: Local, folder: Path) -> None:
    at = created(client, delta=1e-9)
    rng = random.Random(2)
    given = client.post(f"{at}/ask", json={"n": 300}).json()["tickets"]
    high = {"old / buy", "new / try"}
    tell(client, at, {one["ticket"]: rng.gauss(float(one["arm"] in high), 0.5) for one in given})
    before = client.get(at).json()
    assert not before["decided"]
    assert [one["kind"] for one in before["doubts"]] == ["fit"]
    response = client.post(f"{at}/void", json={"tickets": [given[-1]["ticket"]], "reason": "sent twice"})
    assert response.json()["voided"] == 1
    status = client.get(at).json()
    assert not status["proved"]
    assert [one["kind"] for one in status["doubts"]] == ["fit"]
    wrong = [one["ticket"] for one in given if one["arm"] in high]
    assert client.post(f"{at}/void", json={"tickets": wrong, "reason": "a broken page"}).status_code == 200
    status = client.get(at).json()
    assert status["proved"]
    assert not status["doubts"]
    assert not any(differences(folder))


def test_a_plan_can_be_started(client: Local) -> None:
    means = [0.0, 0.5, 0.2, 0.6, 1.1, 0.8]
    form = {name: value for name, value in FORM.items() if name not in ("name", "seed")}
    response = client.post("/v1/plan", json={**form, "means": means, "floors": {"headline": 0.2}})
    assert response.status_code == 200, response.text
    plan = response.json()
    assert plan["best"] == "new / try"
    assert plan["experiment"]["stopping"]["kind"] == "linear_mixture"
    at = created(client, **{"factors": None, **plan["experiment"]})
    effects = client.get(at).json()["effects"]
    assert {one["level"]: one["floor"] for one in effects} == {"old": 0.2, "new": 0.2, "buy": 0, "try": 0, "go": 0}
    wrong = client.post("/v1/plan", json={**form, "means": means[:4]})
    assert wrong.status_code == 422
    assert "means must be as many as arms (6), got 4" in wrong.text


def test_a_plan_takes_effects_instead_of_means(client: Local) -> None:
    form = {name: value for name, value in FORM.items() if name not in ("name", "seed")}
    form |= {"floors": {"headline": 0.2, "button": {"go": 0.3}}}
    effects = {"headline": {"new": 0.6}, "button": {"try": 0.5, "go": 0.2}}
    plan = client.post("/v1/plan", json={**form, "effects": effects, "baseline": 1.0}).json()
    assert plan["best"] == "new / try"
    assert [arm["mean"] for arm in plan["allocation"]] == pytest.approx([1.0, 1.5, 1.2, 1.6, 2.1, 1.8])
    assert [(one["factor"], one["level"], one["floor"]) for one in plan["levels"]] == [
        *[("headline", "old", 0.2), ("headline", "new", 0.2)],
        *[("button", "buy", 0.0), ("button", "try", 0.0), ("button", "go", 0.3)],
    ]
    assert sum(one["share"] for one in plan["levels"][:2]) == pytest.approx(1.0)
    means = [arm["mean"] for arm in plan["allocation"]]
    assert plan["trials"] == client.post("/v1/plan", json={**form, "means": means}).json()["trials"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"effects": {"footer": {"a": 1.0}}}, "effects must be of 'headline' and 'button', got 'footer'"),
        ({"effects": {"button": {"a": 1.0}}}, "effects of button must be of 'buy', 'try' and 'go', got 'a'"),
        ({"effects": {}, "means": [1.0] * 6}, "means follow from effects: give one of them"),
        ({"effects": {}, "difference": 1.0}, "effects must stand alone"),
        ({"effects": {}, "factors": None, "arms": ["a", "b"]}, "effects need factors"),
        ({}, "means must be given, or difference and baseline, or, with factors, effects"),
        ({"effects": {"button": {"try": 1.0}}, "floors": {"footer": 0.1}}, "floors must be by factor"),
        ({"effects": {}, "family": {**NOISE, "guess": 4.0}}, "family takes kind and variance, got 'guess'"),
        ({"effects": {}, "family": {**NOISE, "kind": "factorial", "factors": FACTORS}}, "factors must be given once"),
    ],
)
def test_effects_that_are_refused(client: Local, changes: dict[str, Any], message: str) -> None:
    form = {name: value for name, value in FORM.items() if name not in ("name", "seed")}
    response = client.post("/v1/plan", json={**form, **changes})
    assert response.status_code == 422
    assert message in response.text


def test_floors_of_arms_and_of_a_factor_called_kind(client: Local) -> None:
    form = {"factors": {"kind": ["a", "b"], "x": ["1", "2"]}, "family": NOISE, "delta": 0.05}
    effects = {"kind": {"b": 0.2}, "x": {"2": 0.1}}
    for rates, floors in [
        ({"kind": 0.2}, [0.2, 0.2, 0.0, 0.0]),
        ({"kind": "overlapping", "floor": 0.1}, [0.2] * 4),
        (0.1, [0.2] * 4),
    ]:
        plan = client.post("/v1/plan", json={**form, "effects": effects, "floors": rates}).json()
        assert [one["floor"] for one in plan["levels"]] == pytest.approx(floors)
        at = created(client, **{**form, "floors": rates})
        assert [one["floor"] for one in client.get(at).json()["effects"]] == pytest.approx(floors)


def test_interactions_and_other_features(client: Local) -> None:
    at = created(client, interactions=[["headline", "button"]])
    assert len(client.get(at).json()["effects"]) == 2 + 3 + 6
    linear = {"kind": "linear", "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "variance": 1.0}
    at = created(client, factors=None, arms=["a", "b", "c"], family=linear)
    assert "effects" not in client.get(at).json()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"family": "bernoulli"}, "give variance 0.25 for rewards from 0 to 1"),
        ({"family": {"kind": "gaussian", "variance": 1e-100}}, "variance must be from 1e-60"),
        ({"arms": ["a", "b"]}, "arms follow from factors"),
        ({"factors": {"headline": ["old"]}}, "at least two levels"),
        ({"factors": None, "arms": ["a", "b"], "interactions": []}, "interactions need factors"),
        ({"floors": {"headline": 0.6}}, "would take 120 % of the trials"),
        ({"factors": {name: ["x", "y"] for name in "abcdefghi"}}, "at most 2,500 here, got 512 x 10"),
        ({"factors": {name: list("0123456789") for name in "ab"}, "interactions": [["a", "b"]]}, "got 100 x 100"),
        ({"factors": {str(name): ["x", "y"] for name in range(26)}}, "at most 1,000 combinations, got 67,108"),
        (
            {
                "factors": None,
                "arms": [str(arm) for arm in range(60)],
                "family": {"kind": "linear", "variance": 1.0, "features": np.eye(60).tolist()},
            },
            "at most 2,500 here, got 60 x 60",
        ),
        ({"family": {**NOISE, "variance": 10**400}}, "variance must be positive, got 1000"),
        ({"family": {**NOISE, "guess": 4.0}}, "with factors, family takes kind and variance, got 'guess'"),
        ({"family": {**NOISE, "variance": True}}, "family must be gaussian with its variance"),
        ({"family": {**NOISE, "kind": "factorial", "factors": FACTORS}}, "factors must be given once"),
        ({"family": {**NOISE, "kind": "factorial", "interactions": []}}, "interactions must be given once"),
        (
            {"factors": None, "interactions": [], "family": {**NOISE, "kind": "factorial", "factors": FACTORS}},
            "interactions need factors beside them",
        ),
        (
            {"factors": None, "family": {**NOISE, "kind": "factorial", "factors": FACTORS, "guess": 4.0}},
            "got 'guess'",
        ),
        ({"interactions": [["headline", "footer"]]}, "pairs of the factors 'headline' and 'button'"),
    ],
)
def test_what_is_refused(client: Local, changes: dict[str, Any], message: str) -> None:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 422
    assert message in response.text


def test_ceilings_of_levels_are_kept_and_audited(client: Local) -> None:
    at = created(client, floors={"kind": "bounded", "floor": {"headline": 0.3}, "ceiling": {"button": {"try": 0.4}}})
    status = play(client, at, 0.0, 2_000)
    assert status["stopped"]
    counts = {arm["arm"]: arm["assigned"] for arm in status["arms"]}
    tries = sum(count for arm, count in counts.items() if arm.endswith("/ try"))
    assert tries <= 0.4 * sum(counts.values()) + 1e-9
    audit = client.get(f"{at}/audit").json()
    assert audit["kept"]
