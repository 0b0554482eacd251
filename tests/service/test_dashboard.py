"""The calls of the pages: plans, lists, charts, summaries, audits and reports."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import plotly.graph_objects as go
import pytest
from pydantic import TypeAdapter

from fairbai import __version__
from fairbai.problems.short_forms import FAMILY_MISSING
from fairbai.service.domain import answers, audit_answers, status_answers
from fairbai.service.http.answers import Planned
from fairbai.service.reading.replay import MAX_DIFFERENCE
from fairbai.service.reading.words import together
from fairbai.service.storage.schema import experiments
from fairbai.service.storage.settings import ServerSettings
from tests.service.running import Local, address, ask, create, play, running, tell

HOSTILE = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "%{x} & “quotes”"]
PLAN: dict[str, Any] = {
    "arms": ["a", "b", "c"],
    "means": [0.1, 0.12, 0.1],
    "family": "bernoulli",
    "delta": 0.05,
    "floors": {"kind": "constant", "floor": 0.3},
    "daily": 5000,
}


def checked(kind: Any, response: httpx.Response) -> Any:
    """An answer, which must have exactly the members that its type says."""
    assert response.status_code == 200, response.text
    return TypeAdapter(kind).validate_python(response.json(), strict=True)


# --- plans ------------------------------------------------------------------------------------------------------


def test_plan(tmp_path: Path) -> None:
    with running(address(tmp_path), "reader") as client:
        response = client.post("/v1/plan", json=PLAN)
        answer = Planned.model_validate(response.json())
        assert answer.best == "b"
        assert sum(arm.share for arm in answer.allocation) == pytest.approx(1.0)
        assert answer.stop == "drift_proof"
        assert answer.trials.without_floors <= answer.trials.expected == answer.trials.drift_proof
        assert answer.price.trials == pytest.approx(answer.trials.expected - answer.trials.without_floors)
        assert answer.quantiles.p10 < answer.trials.expected < answer.quantiles.p90
        assert answer.days is not None
        assert answer.days.expected == pytest.approx(answer.trials.expected / 5000)
        for figure in answer.figures.values():
            go.Figure(figure)


def test_a_plan_can_be_begun(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        ceilings = {"kind": "bounded", "floor": 0.1, "ceiling": [0.4, 0.5, 0.5]}
        for rates in (PLAN["floors"], ceilings):
            planned = client.post("/v1/plan", json={**PLAN, "floors": rates, "daily": None}).json()
            assert planned["days"] is None
            begun = client.post("/v1/experiments", json={"name": "planned", **planned["experiment"]})
            assert begun.status_code == 201, begun.text
            assert begun.json()["stopping"]["kind"] == planned["experiment"]["stopping"]["kind"] == "design_based"


def test_a_plan_has_both_stops(tmp_path: Path) -> None:
    bounded = {"kind": "bounded", "low": 0.0, "high": 2.0}
    with running(address(tmp_path)) as client:
        cases: tuple[tuple[dict[str, Any], bool], ...] = (
            ({}, True),
            ({"drifts": True}, True),
            ({"drifts": False}, False),
            ({"floors": 0.0}, False),
            ({"family": "poisson"}, False),
            ({"family": bounded}, True),
        )
        for changes, drifts in cases:
            response = client.post("/v1/plan", json={**PLAN, **changes})
            answer = Planned.model_validate(response.json())
            possible = drifts or "drifts" in changes
            assert answer.drifts is drifts
            assert (answer.trials.drift_proof is not None) is possible
            assert answer.days is not None
            if answer.trials.drift_proof is not None:
                assert answer.days.drift_proof == pytest.approx(answer.trials.drift_proof / 5000)
            assert answer.trials.expected == vars(answer.trials)[answer.stop]
            assert answer.experiment["stopping"] == answer.stops[answer.stop]
            if drifts or not possible:
                assert answer.stop == ("drift_proof" if drifts else "proved")
            else:
                assert answer.trials.expected == min(answer.trials.proved, answer.trials.drift_proof or math.inf)
            begun = client.post("/v1/experiments", json={"name": "planned", **answer.experiment})
            assert begun.status_code == 201, begun.text
        refused = client.post("/v1/plan", json={**PLAN, "floors": 0.0, "drifts": True})
        assert refused.status_code == 422
        assert "a constant, positive floor for every arm" in refused.json()["detail"]


def test_a_difference_instead_of_means(tmp_path: Path) -> None:
    form = {name: value for name, value in PLAN.items() if name != "means"}
    with running(address(tmp_path), "reader") as client:
        by_difference = client.post("/v1/plan", json={**form, "difference": 0.25, "baseline": 0.25}).json()
        by_means = client.post("/v1/plan", json={**PLAN, "means": [0.25, 0.25, 0.5]}).json()
        assert by_difference == by_means


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"means": [0.1, 0.1, 0.1]}, "means must have a single best arm, got the same for 'a' and 'b'"),
        ({"means": [0.1, 0.2]}, "means must be as many as arms (3), got 2"),
        ({"means": [0.1, 0.2, 1.5]}, "means must be in (0, 1) for bernoulli arms"),
        ({"means": None}, "means must be given, or difference and baseline"),
        ({"difference": 0.1}, "means must stand alone"),
        ({"means": None, "difference": 0.1}, "means must be given, or difference and baseline"),
        ({"floors": {"kind": "constant", "floor": 0.4}}, "3 floors of 40 % add up to 120 %"),
        ({"floors": {"kind": "bounded", "floor": 0.1, "ceiling": 0.2}}, "3 ceilings of 20 % add up to 60 %"),
        ({"floors": {"kind": "constant", "floor": [0.5, 0.5, 0.0]}}, "nothing is left for 'c'"),
        ({"floors": {"kind": "magic"}}, "floors must be one of"),
        ({"floors": {"d": 0.1}}, "a floor must be for an arm of 'a', 'b', 'c', got 'd'"),
        ({"floors": {"d": 1.1}}, "floors.d must be at most 1, got 1.1"),
        ({"floors": [0.1, True, 0.1]}, "floors[1] must be a number, got true"),
        ({"floors": True}, "floors must be one floor for all arms, one per arm, floors by label (with factors: by"),
        ({"family": "cauchy"}, "family must be one of"),
        ({"family": None}, FAMILY_MISSING.replace("None", "null")),
        ({"delta": 0.5}, "delta"),
        ({"arms": ["a", "a", "b"]}, "arms must have different labels"),
        ({"arms": [str(number) for number in range(101)]}, "arms"),
        ({"daily": 0}, "daily"),
        ({"daily": 1e-310}, "daily"),
        (
            {"family": {"kind": "gaussian", "variance": 1.0}, "means": [0.0, 1e-200, 0.0]},
            "means must differ by more: to tell 'b' from",
        ),
        ({"family": {"kind": "gaussian", "variance": 1.0}, "means": [0.0, 1e-150, 0.0]}, "means must differ by more"),
    ],
)
def test_what_is_wrong_with_a_plan(tmp_path: Path, changes: dict[str, Any], detail: str) -> None:
    with running(address(tmp_path), "reader") as client:
        response = client.post("/v1/plan", json={**PLAN, **changes})
        assert response.status_code == 422
        assert detail in response.json()["detail"]


def test_a_plan_takes_the_short_forms_of_rates(tmp_path: Path) -> None:
    with running(address(tmp_path), "reader") as client:
        for short, full in (({"a": 0.3}, [0.3, 0.0, 0.0]), (0.2, 0.2), ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3])):
            plans = [client.post("/v1/plan", json={**PLAN, "floors": form}).json()
                     for form in (short, {"kind": "constant", "floor": full})]  # fmt: skip
            assert plans[0] == plans[1]


# --- lists ------------------------------------------------------------------------------------------------------


def names(client: Local, query: str) -> list[str]:
    response = client.get(f"/v1/experiments?{query}")
    assert response.status_code == 200, response.text
    return [line["name"] for line in checked(answers.List, response)["experiments"]]


def test_lists_are_filtered_and_sorted(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        running_one = create(client, name="Beta 100%", delta=1e-9)
        decided = create(client, name="alpha")
        closed = create(client, name="gamma_x")
        play(client, running_one, 5)
        play(client, decided, 500)
        client.post(f"{closed}/close")
        assert names(client, "") == ["gamma_x", "alpha", "Beta 100%"]
        assert names(client, "descending=false") == ["Beta 100%", "alpha", "gamma_x"]
        assert names(client, "sort=name&descending=false") == ["alpha", "Beta 100%", "gamma_x"]
        assert names(client, "sort=trials") == ["alpha", "Beta 100%", "gamma_x"]
        assert names(client, "sort=progress") == ["alpha", "Beta 100%", "gamma_x"]
        for state, expected in (("running", "Beta 100%"), ("decided", "alpha"), ("closed", "gamma_x")):
            assert names(client, f"state={state}") == [expected]
        for outcome, expected in (("open", "Beta 100%"), ("decided", "alpha"), ("undecided", "gamma_x")):
            assert names(client, f"outcome={outcome}") == [expected]
        client.post(f"{decided}/close")  # which leaves it decided
        assert names(client, "outcome=decided") == ["alpha"]
        assert names(client, "state=decided") == []
        assert names(client, "search=BETA") == ["Beta 100%"]
        assert names(client, "search=0%25") == ["Beta 100%"]  # a percent sign is a letter like others
        assert names(client, "search=a_x") == ["gamma_x"]
        assert names(client, "search=nothing") == []
        for wrong in ("state=lost", "outcome=lost", "sort=luck", "search=%00", "limit=0", f"search={'x' * 201}"):
            assert client.get(f"/v1/experiments?{wrong}").status_code == 422, wrong


@pytest.mark.parametrize("sort", ["created", "name", "trials", "progress"])
@pytest.mark.parametrize("descending", ["true", "false"])
def test_pages_of_a_list_have_everything_once(tmp_path: Path, sort: str, descending: str) -> None:
    with running(address(tmp_path)) as client:
        for number in range(7):
            at = create(client, name=f"name {number % 3}", delta=1e-9)
            play(client, at, number % 2)
        query = f"sort={sort}&descending={descending}"
        seen: list[str] = []
        after = ""
        while True:
            answer = client.get(f"/v1/experiments?{query}&limit=3{after}").json()
            seen += [line["id"] for line in answer["experiments"]]
            if answer["next"] is None:
                break
            after = f"&after={answer['next']}"
        whole = client.get(f"/v1/experiments?{query}").json()["experiments"]
        assert seen == [line["id"] for line in whole]
        assert len(set(seen)) == 7
        assert client.get(f"/v1/experiments?{query}&after=abc").status_code == 404


def test_lines_of_a_list(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        (line,) = client.get("/v1/experiments").json()["experiments"]
        assert (line["arms"], line["trials"], line["progress"], line["floors_kept"]) == (3, 0, None, True)
        play(client, at, 500)
        (line,) = client.get("/v1/experiments").json()["experiments"]
        assert (line["state"], line["progress"], line["floors_kept"]) == ("decided", 1.0, True)
        assert line["trials"] == client.get(at).json()["trials"]


def test_progress_of_the_list_is_that_of_the_status(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, delta=1e-9, floors="constant")
        for number in range(20):
            play(client, at, 5, seed=number)
            (line,) = client.get("/v1/experiments").json()["experiments"]
            status = client.get(at).json()
            if status["glr"] is not None and line["progress"] is not None:
                assert line["progress"] == pytest.approx(status["glr"] / status["threshold"], abs=0.1)


# --- sentences --------------------------------------------------------------------------------------------------


def sentence(client: Local, at: str) -> str:
    return str(checked(status_answers.Summary, client.get(f"{at}/summary"))["sentence"])


def test_sentences_of_running_experiments(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, delta=0.001)
        assert sentence(client, at) == "No trials yet."
        (ticket,) = ask(client, at)
        tell(client, at, {ticket["ticket"]: 1.0})
        assert sentence(client, at) == (
            "If you stop now: no arm can be named, because 2 arms have no reward. No decision yet after 1 trial."
        )
        tell(client, at, {ticket["ticket"]: 0.001 * number for number, ticket in enumerate(ask(client, at, 5))})
        assert client.get(at).json()["expected_trials_to_go"] is None  # it would be more than 20 times the trials
        assert sentence(client, at).endswith("requires. It is too early to say how many more trials are needed.")
        play(client, at, 10)
        assert client.get(at).json()["expected_trials_to_go"] > 0.0
        assert re.fullmatch(
            r"If you stop now: “a”, \d+ % sure; .+ still in the race\. No decision yet after \d+ trials: \d+ % of the "
            r"evidence that 99.9 % confidence requires\. About [\d,]+ more trials needed\.",
            sentence(client, at),
        )


def test_sentence_of_a_tie(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, family="bernoulli", arms=["a", "b"])
        for _ in range(5):
            tell(client, at, {ticket["ticket"]: 1.0 for ticket in ask(client, at, 4)})
        assert sentence(client, at).endswith("No decision yet after 20 trials: “a” and “b” look equally good.")


def test_sentence_of_a_decision(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, delta=0.05, floors={"kind": "constant", "floor": [0.1, 0.1, 0.6]})
        play(client, at, 500)
        found = client.get(f"{at}/summary").json()
        trials = client.get(at).json()["trials"]
        assert re.fullmatch(
            r"“a” is best, with 95 % confidence if every arm keeps its mean and rewards vary no more than normal ones "
            rf"of the declared variance, after {trials} trials; every arm got at least its guaranteed "
            r"10 % to 60 %; fairness cost about \d+ trials\.",
            found["sentence"],
        )
        assert 0.0 < found["fairness_trials"] < trials
        assert found["floors_met"]
        client.post(f"{at}/close")
        assert sentence(client, at).startswith("“a” is best, with 95 % confidence")


def test_sentence_of_a_heuristic_decision_without_floors(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, stopping="heuristic", floors="constant")
        play(client, at, 500)
        said = sentence(client, at)
        assert said.startswith("“a” is best, by a rule that aims at 90 % confidence and is not proved, after ")
        assert "guaranteed" not in said


def test_sentence_while_floors_are_settled(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, sampling="top_two", floors={"kind": "constant", "floor": [0.0, 0.0, 0.8]})
        while not client.get(at).json()["decided"]:
            play(client, at, 1)
        assert re.search(r"; [\d,]+ more trials? until every arm has its guaranteed share", sentence(client, at))


def test_sentences_of_closed_experiments(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        empty, some = create(client), create(client, delta=1e-9)
        play(client, some, 10)
        for at in (empty, some):
            client.post(f"{at}/close")
        assert sentence(client, empty) == "Closed by hand before the first trial."
        said = r"Closed by hand without a decision\. Best guess: “a”, .+ still in the race\. It had \d+ trials\. .+"
        assert re.fullmatch(said, sentence(client, some))


def test_sentence_of_floors_that_are_not_met(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, sampling="top_two", settle=False, floors={"kind": "constant", "floor": [0.0, 0.0, 0.8]})
        play(client, at, 500)
        assert re.search(r"“c” got [\d.]+ % of the trials but was guaranteed 80 %", sentence(client, at))
        assert client.get(f"{at}/summary").json()["floors_met"] is False
        assert client.get("/v1/experiments").json()["experiments"][0]["floors_kept"] is False


# --- audits -----------------------------------------------------------------------------------------------------


def test_audit_says_what_the_log_says(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, floors={"kind": "constant", "floor": [0.5, 0.1, 0.2]})
        play(client, at, 500)
        audit = checked(audit_answers.Audit, client.get(f"{at}/audit"))
        log = list(csv.DictReader(io.StringIO(client.get(f"{at}/events").text)))
        decided = next(int(line["sequence"]) for line in log if line["kind"] == "decided")
        counts, worst = dict.fromkeys("abc", 0), dict.fromkeys("abc", 0.0)
        before = [line["arm"] for line in log if line["kind"] == "asked" and int(line["sequence"]) < decided]
        for number, arm in enumerate(before, 1):
            counts[arm] += 1
            for name, floor in zip("abc", (0.5, 0.1, 0.2), strict=True):
                worst[name] = max(worst[name], floor * number - counts[name])
        assert {arm["arm"]: arm["behind"] for arm in audit["arms"]} == pytest.approx(worst)
        assert audit["decided_after"] == len(before)
        assert audit["kept"] is True
        assert all(arm["behind_allowed"] >= arm["behind"] for arm in audit["arms"])
        assert audit["library"] == __version__
        assert (audit["promise"]["proved"], audit["promise"]["shares"]) == (True, "every trial")
        assert audit["settings"]["seed"] == 7
        assert "At the end, every arm has its floor, to less than one trial." in audit["findings"]


def test_audits_of_other_promises(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        learned = create(client, floors={"kind": "gap", "p0": 0.6})
        play(client, learned, 3)
        audit = client.get(f"{learned}/audit").json()
        assert audit["kept"] is None
        assert audit["promise"]["shares"] == "the stop"
        assert {arm["behind"] for arm in audit["arms"]} == {None}
        assert audit["verdict"] == "Its shares are guaranteed at the stop, which has not come yet."
        groups = [{"arms": [1, 2], "floor": 0.5}]
        limited = create(client, floors={"kind": "bounded", "floor": 0.1, "ceiling": 0.6, "groups": groups})
        play(client, limited, 3)
        audit = checked(audit_answers.Audit, client.get(f"{limited}/audit"))
        assert audit["groups"][0]["arms"] == ["b", "c"]
        assert all(arm["above"] is not None for arm in audit["arms"])
        assert (audit["groups"][0]["ceiling"], audit["groups"][0]["above"]) == (1.0, None)
        plain = create(client, floors="constant", stopping="heuristic")
        audit = client.get(f"{plain}/audit").json()
        assert audit["verdict"] == "No shares were guaranteed."
        assert audit["promise"]["sentences"] == [
            "A decision is wrong with probability at most 10 % (a heuristic target, not proved).",
            "No shares were guaranteed.",
        ]


def test_the_audit_of_a_ceiling_of_a_group(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, floors={"kind": "bounded", "groups": [{"arms": ["b", "c"], "ceiling": 0.4}]})
        play(client, at, 2000)
        audit = checked(audit_answers.Audit, client.get(f"{at}/audit"))
        (group,) = audit["groups"]
        assert (group["arms"], group["floor"], group["ceiling"]) == (["b", "c"], 0.0, 0.4)
        assert 0.0 < group["above"] <= group["above_allowed"] == 1.0
        assert "Until then, no group is ever more than 1.00 trials above its ceiling." in audit["promise"]["sentences"]
        assert audit["kept"] is True
        assert "At the end, every ceiling and group limit is met, to less than one trial." in audit["findings"]


def test_broken_ceilings_of_groups_are_not_called_kept(tmp_path: Path) -> None:
    groups = [{"arms": [1, 2], "ceiling": 0.4}]
    with running(address(tmp_path)) as client:
        at = create(client, settle=False, floors={"kind": "bounded", "groups": groups})
        batch = {"batch": "1", "pulls": {"a": 200, "b": 400, "c": 400}, "sums": {"a": 0.0, "b": 400.0, "c": 0.0}}
        assert client.post(f"{at}/batches", json=batch).json()["stopped"]
        audit = client.get(f"{at}/audit").json()
        assert (audit["kept"], audit["verdict"]) == (False, "A guaranteed share was not given.")


def test_broken_ceilings_and_groups_are_not_called_kept(tmp_path: Path) -> None:
    groups = [{"arms": [1, 2], "floor": 0.4}]
    with running(address(tmp_path)) as client:
        at = create(client, settle=False, floors={"kind": "bounded", "ceiling": 0.5, "groups": groups})
        batch = {"batch": "1", "pulls": {"a": 800, "b": 100, "c": 100}, "sums": {"a": 800.0, "b": 0.0, "c": 0.0}}
        assert client.post(f"{at}/batches", json=batch).json()["stopped"]
        audit = client.get(f"{at}/audit").json()
        assert (audit["kept"], audit["verdict"]) == (False, "A guaranteed share was not given.")
        assert "“a” got 80 % of the trials but was limited to 50 %" in sentence(client, at)


def test_shares_to_less_than_a_trial_are_called_so(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, arms=["a", "b"], floors={"kind": "constant", "floor": [0.35, 0.65]}, settle=True)
        play(client, at, 500)
        arms = client.get(at).json()["arms"]
        trials = sum(arm["assigned"] for arm in arms)
        exact = all(arm["assigned"] >= arm["floor"] * trials - 1e-6 for arm in arms)
        assert ("at least its guaranteed 35 % to 65 %" in sentence(client, at)) == exact
        assert ("35 % to 65 %, to less than one trial" in sentence(client, at)) != exact


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("short", [pytest.param(0, marks=pytest.mark.system), 2_000])  # in a process, and in a thread
def test_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int) -> None:
    monkeypatch.setattr("fairbai.service.http.replay.SHORT", short)
    with running(address(tmp_path), "admin") as client:
        at = create(client)
        play(client, at, 20)
        assert client.get(f"{at}/audit").json()["replay"] is None
        lines = [json.loads(line) for line in client.get(f"{at}/audit/replay").text.splitlines()]
        version = client.get(at).json()["version"]
        assert (lines[-1]["done"], lines[-1]["checked"], lines[-1]["differences"]) == (True, version, [])
        replay = checked(audit_answers.Audit, client.get(f"{at}/audit"))["replay"]
        assert replay["checked"] == replay["of"] == version
        assert f"{version:,} events, no differences" in client.get(f"{at}/report").text
        assert client.get("/v1/experiments/abc/audit/replay").status_code == 404


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_replay_of_a_large_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.service.http.replay.SHORT", 0)
    with running(address(tmp_path), "admin") as client:
        at = create(client)
        play(client, at, 3)
        with client.app.service.database.writer.begin() as connection:
            connection.execute(experiments.update().values(state="x" * 200_000))
        done = json.loads(client.get(f"{at}/audit/replay").text.splitlines()[-1])
        assert done["done"]
        assert [difference.split(" is ")[0] for difference in done["differences"]] == ["state"]
        assert len(done["differences"][0]) == MAX_DIFFERENCE


# --- charts and reports -----------------------------------------------------------------------------------------


def test_charts(tmp_path: Path) -> None:
    with running(address(tmp_path), "admin") as client:
        at = create(client, arms=HOSTILE)
        for _ in range(2):
            found = checked(status_answers.Figures, client.get(f"{at}/figures"))
            assert list(found["figures"]) == ["shares", "means", "evidence", "trials"]
            for figure in found["figures"].values():
                go.Figure(figure)
            play(client, at, 5)
        assert found["version"] == 11
        assert "<" not in json.dumps(found["figures"]).replace("<extra></extra>", "")


class Reader(HTMLParser):
    """What a browser finds in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self._inside = ""
        self.data = ""
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag if ("type", "application/json") not in attrs else "data"

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self._inside not in ("script", "style"):
            self.text += data


def test_report_is_one_file_in_which_labels_are_text(tmp_path: Path) -> None:
    with running(address(tmp_path), "admin") as client:
        at = create(client, arms=HOSTILE, name="<script>alert(2)</script>")
        play(client, at, 500)
        response = client.get(f"{at}/report")
        assert response.headers["content-disposition"].startswith("attachment; filename=")
        assert response.headers["content-security-policy"] == "sandbox"
        reader = Reader()
        reader.feed(response.text)
        assert reader.tags.count("script") == 3  # the data, plotly.js, and what draws
        assert "img" not in reader.tags
        summary = client.get(f"{at}/summary").json()
        for text in (*HOSTILE, "<script>alert(2)</script>", summary["headline"], summary["more"]):
            assert together(text) in reader.text
        assert not [value for name, value in reader.attributes if name in ("src", "href") or name.startswith("on")]
        assert json.loads(reader.data)["shares"]["data"][0]["x"][0] == "&lt;script&gt;alert(1)&lt;/scrip…"
        policy = next(value for name, value in reader.attributes if name == "content" and "script-src" in str(value))
        assert "script-src 'sha256-" in str(policy)


def test_settings_of_a_report_are_words(tmp_path: Path) -> None:
    with running(address(tmp_path), "admin") as client:
        groups = [{"arms": [1, 2], "floor": 0.5}]
        at = create(client, floors={"kind": "bounded", "floor": [0.1, 0.2, 0.1], "ceiling": 0.6, "groups": groups})
        reader = Reader()
        reader.feed(client.get(f"{at}/report").text)
        settings = reader.text[reader.text.index("Setting") :]
        assert "Target error probability (δ)10\u202f%" in settings
        shares = "Guaranteed sharesbounded (floor a: 10 %, b: 20 %, c: 10 %; ceiling 60 %; groups b, c: 50 %)"
        assert together(shares) in settings
        assert "Lease of a ticket1 day" in settings
        assert "Sampling rulefair top two" in settings
        assert "{" not in settings
        groups = [{"arms": [1, 2], "floor": 0.5, "ceiling": 0.7}, {"arms": [0], "ceiling": 0.4}]
        reader.feed(client.get(f"{create(client, floors={'kind': 'bounded', 'groups': groups})}/report").text)
        assert together("groups b, c: 50 % to 70 %, a: at most 40 %)") in reader.text


def test_what_is_passed_on_has_no_webhook(tmp_path: Path) -> None:
    """Its address often holds a secret."""
    with running(address(tmp_path), webhook_hosts=("a.example",), webhook_secret="a secret of tests") as client:
        at = create(client, webhook="https://a.example/hook-of-tests", retention="30d")
        assert client.get(at).json()["config"]["webhook"] == "https://a.example/hook-of-tests"
        assert client.get(f"{at}/audit").json()["settings"]["retention"] == "30d"
        for call in ("audit", "report"):
            assert "hook-of-tests" not in client.get(f"{at}/{call}").text
        assert '>Kept after its end for</th><td class="words">30d<' in client.get(f"{at}/report").text


@pytest.mark.parametrize("call", ["figures", "summary", "audit", "report", "stream", "audit/replay"])
def test_unknown_experiments(tmp_path: Path, call: str) -> None:
    with running(address(tmp_path), "reader") as client:
        assert client.get(f"/v1/experiments/abc/{call}").status_code == 404
        assert ServerSettings().demo is False
