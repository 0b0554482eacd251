"""What is said about requests that cannot be: the member, what belongs there and what came, in the sender's terms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbai.service.domain.encoding import parse
from fairbai.service.domain.refusals import Refusal
from fairbai.service.domain.wording import by_label
from fairbai.service.http import forms, planning, routes, trial_forms
from tests.service.running import FORM, Local, address, ask, create, running, tell

PLAN: dict[str, Any] = {"arms": ["a", "b"], "means": [0.1, 0.2], "delta": 0.05, "family": "bernoulli"}
BODIES: dict[Any, dict[str, Any]] = {
    forms.Experiment: FORM,
    forms.Plan: PLAN,
    trial_forms.Ask: {"n": 1},
    trial_forms.Tell: {"rewards": [{"ticket": "0", "reward": 1.0}]},
    trial_forms.Batch: {"batch": "x", "pulls": {"a": 1}, "sums": {"a": 1.0}},
}
OURS = re.compile(
    r"Input should|valid |Value error|Field required|Extra inputs|constrained|function-|dict\[|\[str|__|dtype|array\("
    r"|positional|object at|^body|\bNone\b"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("wrong"))) as found:
        yield found


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        (
            {"floors": True},
            "floors must be one floor for all arms, one per arm, floors by label (with factors: by factor), or",
        ),
        (
            {"floors": "0.1"},
            "floors must be one of bounded, constant, gap, inverse_gap, overlapping, proportional, softmax, got '0.1'",
        ),
        ({"floors": -0.1}, "floors must be at least 0, got -0.1"),
        ({"floors": {"a": "x"}}, 'floors.a must be a number, got "x"'),
        ({"floors": {"a b": 2}}, 'floors["a b"] must be at most 1, got 2'),
        ({"floors": {"labels": 2}}, "floors.labels must be at most 1, got 2"),
        ({"floors": {"kind": "custom"}}, "got 'custom', which is Python code and has no JSON form"),
        ({"floors": {"kind": "gap"}}, "gap needs p0, got none"),
        ({"family": 5}, 'family must be the name of a kind, or an object with "kind" and its parameters, got 5'),
        ({"family": {}}, 'family must be the name of a kind, or an object with "kind" and its parameters, got {}'),
        ({"family": {"kind": "gaussian", "variance": "a"}}, "variance must be numbers, got ['a']"),
        (
            {"family": {"kind": "gaussian", "variance": 10**400}},
            "variance must be numbers up to 1.8e+308, got a larger",
        ),
        ({"family": {"kind": "gaussian", "variance": [1, -1, 1]}}, "variance must be positive, got -1.0 for 'b'"),
        ({"settle": 5}, "settle must be true, false, or an object with margin and learn, got 5"),
        ({"settle": {"margin": -1}}, "settle.margin must be at least 0, got -1"),
        ({"settle": {"spread": 1}}, "settle.spread is not a member of this request"),
        ({"surplus": 1}, "surplus is not a member of this request; it may have family, tolerance, goal, control, name"),
        ({"delta": None}, "delta must be a number, got null"),
        ({"arms": ["a", "a"]}, "arms must have different labels, got 'a' twice"),
        ({"arms": ["a", 5]}, "arms[1] must be text, got 5"),
        ({"arms": ["a", "b\n"]}, "arms[1] must be text without control characters, such as tabs and line breaks"),
        ({"arms": ["a"]}, "arms must have at least 2 entries, got 1"),
        ({"arms": [str(number) for number in range(1001)]}, "arms must have at most 1,000 entries, got "),
        ({"name": ""}, "name must not be empty"),
        ({"name": "x" * 300}, f'name must be at most 200 characters long, got "{"x" * 59}…'),
        ({"cycle": "7 days"}, "cycle must be a whole number and a unit (s, m, h, d or w), such as 7d, or a whole"),
        ({"cycle": 0.5}, "cycle must be a whole number and a unit (s, m, h, d or w), such as 7d, or a whole number of"),
        ({"report_after": "soon"}, 'report_after must be a number, got "soon"'),
        ({"delta": "60%"}, "delta must be less than 0.5, got"),
        ({"floors": 0.1, "rates": 0.1}, "floors and rates are two names for the same shares: give one of them"),
        ({"family": "gaussian"}, "gaussian rewards need their variance"),
        ({"cycle": "500d"}, 'cycle must be at most 366d, got "500d"'),
        ({"report_after": 5, "lease": 5}, "report_after takes the place of lease: give one of them"),
    ],
)
def test_experiments(client: Local, changes: dict[str, Any], detail: str) -> None:
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 422, response.text
    assert detail in response.json()["detail"]


@pytest.mark.parametrize(
    ("call", "body", "detail"),
    [
        ("ask", "{", "the body must be JSON: EOF while parsing an object at line 1 column 1"),
        ("ask", "[]", "the body must be an object, got []"),
        ("ask", '{"n": 99999}', "n must be at most 2,000, got 99999"),
        ("ask", json.dumps({"unit": "Ada" * 200}), "unit must be at most 500 characters long"),
        ("rewards", '{"rewards": [{"unit": 7, "value": 1, "event_id": "x"}]}', "rewards[0].unit must be text"),
        ("tell", "{}", "rewards must be given"),
        ("tell", '{"rewards": [{"ticket": "0"}]}', "rewards[0].reward must be given"),
        ("tell", '{"rewards": [{"ticket": 0, "reward": 1}]}', "rewards[0].ticket must be text, got 0"),
        (
            "tell",
            '{"rewards": [{"ticket": "0", "reward": 1e200}]}',
            "rewards[0].reward must be at most 1e+100, got 1e+200",
        ),
        (
            "batches",
            '{"batch": "x", "pulls": {"a": 3}, "sums": {}}',
            "sums must have an entry for every arm with pulls, got none for 'a'",
        ),
        (
            "batches",
            '{"batch": "x", "pulls": {"a": 3}, "sums": {"a": 1}, "squares": {}}',
            "squares must have an entry for every arm with pulls, got none for 'a'",
        ),
        (
            "batches",
            '{"batch": "x", "pulls": {"a": 1}, "sums": {"a": 1, "b": 2}}',
            "sums must be 0 where pulls are 0, got 2.0 for 'b'",
        ),
    ],
)
def test_calls(client: Local, call: str, body: str, detail: str) -> None:
    at = create(client)
    response = client.post(f"{at}/{call}", content=body)
    assert (response.status_code, response.json()["detail"]) == (422, detail)
    assert client.get(at).json()["trials"] == 0


def test_too_many_entries(client: Local) -> None:
    many = {str(number): 1 for number in range(1001)}
    at = create(client)
    for name in ("pulls", "sums", "squares"):
        form = {"batch": "x", "pulls": {"a": 1}, "sums": {"a": 1.0}, name: many}
        response = client.post(f"{at}/batches", json=form)
        assert response.status_code == 422
        assert response.json()["detail"].startswith(f"{name} must have at most 1,000 entries, got ")
    rewards = [{"ticket": "0", "reward": 1.0}] * 2_001
    response = client.post(f"{at}/tell", json={"rewards": rewards})
    assert response.json()["detail"].startswith("rewards must have at most 2,000 entries, got ")


def test_bodies_of_many_values_are_not_read(client: Local) -> None:
    """Which would take half a second, and others would wait. Two thousand rewards are read."""
    at, many = create(client), ",".join(f'"{number}":1' for number in range(20_001))
    for path in (f"{at}/ask", "/v1/plan", "/v1/experiments", "/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/x"):
        for body in ("{" + many + "}", "[" * 20_001, '{"context": {"targetingKey": "x", "more": [' + "{}," * 20_000):
            response = client.post(path, content=body)
            assert (response.status_code, response.json()["title"]) == (413, "Request too large")
            assert "at most 20,000 commas and opening brackets" in response.json()["detail"]
    rewards = [{"unit": f"{number}, or so", "value": 1.0, "event_id": "x"} for number in range(2_000)]
    assert client.post(f"{at}/rewards", json={"rewards": rewards}).json()["title"] != "Request too large"


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("limit=0", 'limit must be at least 1, got "0"'),
        ("limit=x", 'limit must be a whole number, got "x"'),
        ("sort=luck", "sort must be 'created', 'name', 'trials' or 'progress', got \"luck\""),
        ("after=zz", 'after must be the `next` of the page before, got "zz"'),
        ("descending=maybe", 'descending must be true or false, got "maybe"'),
    ],
)
def test_queries(client: Local, query: str, detail: str) -> None:
    assert client.get(f"/v1/experiments?{query}").json()["detail"] == detail


def test_plans_name_arms_by_their_labels(client: Local) -> None:
    wrong = {"means": [0.1, 1.2], "arms": ["green", "blue"]}
    detail = client.post("/v1/plan", json={**PLAN, **wrong}).json()["detail"]
    assert detail == "means must be in (0, 1) for bernoulli arms, got 1.2 for 'blue'"
    unknown = {"family": {"kind": "gaussian", "variance": None}}
    detail = client.post("/v1/plan", json={**PLAN, **unknown}).json()["detail"]
    assert detail.startswith('guess must be given to plan with an unknown variance, such as {"kind"')


def test_labels_that_look_like_numbered_arms_stay() -> None:
    assert by_label("got 1.2 for arm 1, not for arm 7", ["x", "y"]) == "got 1.2 for 'y', not for arm 7"
    assert by_label("no arm of 'arm 1', \"arm 0\"", ["x", "y"]) == "no arm of 'arm 1', \"arm 0\""


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**20)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["a", "gap"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "a", "floor", "margin", "x y"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """The form of a request, and a body of which one or two members are anything."""
    form = draw(st.sampled_from(list(BODIES)))
    names = st.sampled_from([*form.model_fields, "surplus"])
    return form, {**BODIES[form], **draw(st.dictionaries(names, JSON, min_size=1, max_size=2))}


def refusal_of(form: Any, body: dict[str, Any]) -> Refusal | None:
    """Why a body is refused, by its form or by what it asks for."""
    try:
        found = parse(form, json.dumps(body).encode())
        if form is forms.Experiment:
            routes._book(found)
        elif form is forms.Plan:
            planning.planned(found)
    except Refusal as refusal:
        return refusal
    return None


@settings(max_examples=150, deadline=None)
@given(bodies())
def test_anything_is_accepted_or_refused_in_words(made: tuple[Any, dict[str, Any]]) -> None:
    refusal = refusal_of(*made)
    if refusal is not None:
        assert refusal.status == 422
        assert not OURS.search(re.sub(r", got .*", "", refusal.detail, flags=re.DOTALL)), refusal.detail


# --- numbers that would make evidence infinite --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "detail"),
    [
        ({"kind": "gaussian", "variance": 1e-120}, "variance must be from 1e-60 to 1e+200, got 1e-120"),
        ({"kind": "gaussian", "variance": [1, 1, 1e250]}, "variance must be from 1e-60 to 1e+200, got 1e+250"),
        ({"kind": "bounded", "low": 0, "high": 1e-80}, "high must be at least 1e-60 above low, got 0.0 and 1e-80"),
        ({"kind": "bounded", "low": 0, "high": 1e120}, "low and high must be at most 1e+100 in size, got 0 and 1e+120"),
    ],
)
def test_families_whose_evidence_could_be_infinite(client: Local, family: dict[str, Any], detail: str) -> None:
    response = client.post("/v1/experiments", json={**FORM, "family": family})
    assert (response.status_code, response.json()["detail"]) == (422, detail)


@pytest.mark.parametrize("stopping", ["mixture", "two_sided_mixture", "heuristic"])
@pytest.mark.parametrize("family", [{"kind": "gaussian", "variance": 1e-60}, {"kind": "gaussian", "variance": None}])
def test_the_most_extreme_rewards_are_counted(client: Local, family: dict[str, Any], stopping: str) -> None:
    at = create(client, family=family, stopping=stopping, settle=False)
    tell(client, at, {one["ticket"]: 1e100 if one["arm"] == "a" else -1e100 for one in ask(client, at, 9)})
    assert client.get(at).json()["observed"] == 9
    for page in ("summary", "figures", "audit", "report", "history"):
        assert client.get(f"{at}/{page}").status_code == 200, page


def test_rewards_that_are_too_small_or_too_large(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in an experiment that an earlier version let be created."""
    monkeypatch.setattr(routes, "check_scale", lambda family: None)
    for family, reward, least in (
        ({"kind": "gaussian", "variance": 1e-120}, 1e100, "from -1e+70 to 1e+70"),
        ("exponential", 1e-300, "from 1e-150 to 1e+100"),
    ):
        at = create(client, family=family)
        (ticket,) = ask(client, at)
        response = client.post(f"{at}/tell", json={"rewards": [{"ticket": ticket["ticket"], "reward": reward}]})
        detail = f"a reward of this experiment must be {least}, got {reward!r}"
        assert (response.status_code, response.json()["detail"]) == (422, detail)
        batch = {"batch": "x", "pulls": {"a": 1}, "sums": {"a": reward}}
        assert client.post(f"{at}/batches", json=batch).json()["detail"] == detail
        assert client.get(at).json()["observed"] == 0


# --- addresses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("text/html;q=0.5, application/json", False),
        ("application/json, text/html", True),
        ("text/html;q=0, application/json;q=0", False),
        ("text/html;q=high", False),
        ("*/*", False),
        ("application/problem+json", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("path", ["/nothing", "/v1/nothing", "/v1/experiments/abc", "/static/nothing.js"])
def test_what_is_not_there_is_a_page_for_people_and_a_problem_for_programs(
    client: Local, path: str, accept: str, html: bool
) -> None:
    response = client.get(path, headers={"Accept": accept})
    assert response.status_code == 404
    kind = "text/html; charset=utf-8" if html else "application/problem+json"
    assert response.headers["content-type"] == kind
    assert not html or "Page not found" in response.text


def test_programs_that_post_get_a_problem(client: Local, tmp_path: Path) -> None:
    response = client.post("/v1/experiments/abc/ask", json={}, headers={"Accept": "text/html"})
    assert (response.status_code, response.json()["title"]) == (404, "No such experiment")
