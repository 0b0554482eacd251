"""Hypothesis sends random sequences of calls, right and wrong ones, and a simple model says what must come back."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fairbai.service.reading.verify import verify_experiment
from tests.service.running import Local, address, running

pytestmark = pytest.mark.slow_without_jit
ARMS = ("a", "b", "c")
FLOOR = 0.2
BEHIND = 1.0  # trials behind its floor that fair top-two lets an arm fall: 1 + 1/2 - 1/2, as docs/sampling.md proves

REWARDS = st.sampled_from([0.0, 0.25, 1.0])
ROUNDED = 1e-9


class AnyCalls(RuleBasedStateMachine):
    """One experiment after another on one service."""

    service: Local

    @initialize(delta=st.sampled_from([0.4, 1e-3]), settle=st.booleans(), seed=st.integers(0, 2**53 - 1))
    def create(self, delta: float, settle: bool, seed: int) -> None:
        form = {"name": "any", "arms": ARMS, "delta": delta, "settle": settle, "seed": seed}
        created = self.call(
            "/v1/experiments", form | {"family": {"kind": "gaussian", "variance": 1.0}, "floors": FLOOR}
        )
        assert created.status_code == 201
        self.id = created.json()["id"]
        self.tickets: list[str] = []  # the arm of each
        self.names: list[str] = []  # what it is told by
        self.told: dict[int, float] = {}
        self.asks: dict[str, Any] = {}  # answers by Idempotency-Key
        self.batches: dict[str, Any] = {}
        self.pulls = dict.fromkeys(ARMS, 0)  # by batches
        self.answer: dict[str, Any] = {"decided": False, "stopped": False, "recommendation": None}
        self.closed, self.settle = False, settle

    def call(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return self.service.post(path, json=body, headers=headers)

    def does(self, what: str, body: Any, **headers: str) -> httpx.Response:
        return self.call(f"/v1/experiments/{self.id}/{what}", body, **headers)

    def hear(self, answer: dict[str, Any]) -> None:
        """A verdict is final, and so is what was recommended with it."""
        heard = {name: answer[name] for name in ("decided", "stopped", "recommendation")}
        if self.answer["decided"] or self.closed:
            assert heard["recommendation"] == self.answer["recommendation"]
            assert heard["decided"] == self.answer["decided"]
        self.answer = heard  # a batch that nobody expected can undo the stop: floors are then to be met with it too

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.service.get(f"/v1/experiments/{self.id}").json()
        return found

    # --- calls --------------------------------------------------------------------------------------------------

    @rule(n=st.integers(1, 12), key=st.none() | st.sampled_from(["k1", "k2", "k3"]))
    def ask(self, n: int, key: str | None) -> None:
        answer = self.does("ask", {"n": n}, **({} if key is None else {"Idempotency-Key": key}))
        if key in self.asks:
            asked, before = self.asks[key]
            assert answer.status_code == (200 if n == asked else 409)
            assert n != asked or answer.json() == before
        elif self.answer["stopped"]:
            assert answer.status_code == 409
            assert answer.json()["recommendation"] == self.answer["recommendation"]
        else:
            self.take(n, answer)
            if key is not None:
                self.asks[key] = n, answer.json()

    def take(self, n: int, answer: httpx.Response) -> None:
        """New tickets have the next numbers; while settling there may be fewer than asked for."""
        assert answer.status_code == 200
        given = answer.json()["tickets"]
        first = len(self.tickets)
        names = [ticket["ticket"] for ticket in given]
        assert [name.split("-")[0] for name in names] == [str(number) for number in range(first, first + len(given))]
        self.names += names
        assert len(given) == n or (self.answer["decided"] and 1 <= len(given) < n)
        self.tickets += [ticket["arm"] for ticket in given]
        if self.answer["decided"]:  # then these may be the last that were lacking, and nobody said so
            self.answer["stopped"] = self.status()["stopped"]
            assert self.answer["stopped"] or len(given) == n

    @precondition(lambda self: self.answer["stopped"])
    @rule(n=st.integers(1, 3))
    def ask_for_the_winner(self, n: int) -> None:
        answer = self.does("ask", {"n": n, "serve_winner": True})
        winner = self.answer["recommendation"]
        assert answer.status_code == (409 if winner is None else 200)
        if winner is not None:
            ticket = "winner" if self.answer["decided"] else "leader"
            assert answer.json()["tickets"] == [{"ticket": ticket, "arm": winner}] * n
            assert answer.json()["winner"] is self.answer["decided"]
            served = self.does("tell", {"rewards": [{"ticket": ticket, "reward": 1.0}]})
            assert (served.status_code, served.json()["counted"]) == (200, 0)

    def _told(self, number: int, reward: float) -> dict[str, Any]:
        return {"ticket": self.names[number], "reward": reward}

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), lift=st.booleans())
    def tell(self, data: st.DataObject, lift: bool) -> None:
        """Some tickets, perhaps told before, perhaps twice in this call."""
        chosen = data.draw(st.lists(st.integers(0, len(self.tickets) - 1), min_size=1, max_size=20))
        fresh = {
            number: data.draw(REWARDS) + 20.0 * (lift and self.tickets[number] == "a") for number in sorted(set(chosen))
        }
        rewards = {number: self.told.get(number, reward) for number, reward in fresh.items()}
        answer = self.does("tell", {"rewards": [self._told(number, rewards[number]) for number in chosen]})
        assert answer.status_code == 200
        assert answer.json()["accepted"] == len(chosen)
        assert answer.json()["counted"] == len(set(rewards) - set(self.told))
        self.told |= rewards
        self.hear(answer.json())

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def tell_another_reward(self, data: st.DataObject) -> None:
        """And rewards beside it, none of which may be counted."""
        wrong = data.draw(st.sampled_from(sorted(self.told)))
        others = [number for number in range(len(self.tickets)) if number not in self.told][:3]
        rewards = [self._told(number, 0.5) for number in others] + [self._told(wrong, self.told[wrong] + 1.0)]
        answer = self.does("tell", {"rewards": rewards})
        assert (answer.status_code, answer.json()["reward"]) == (409, self.told[wrong])

    @rule(
        ticket=st.sampled_from(["unknown", "-1", "0.5", "007", "99999999999999999999"])
        | st.integers(10**6, 10**14).map(str)
    )
    def tell_an_unknown_ticket(self, ticket: str) -> None:
        others = [self._told(number, 0.5) for number in range(len(self.tickets)) if number not in self.told][:3]
        answer = self.does("tell", {"rewards": [*others, {"ticket": ticket, "reward": 0.5}]})
        assert answer.status_code == 404

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), token=st.binary(min_size=8, max_size=8))
    def tell_a_forged_ticket(self, data: st.DataObject, token: bytes) -> None:
        """Beside rewards that are right, none of which may be counted."""
        number = data.draw(st.integers(0, len(self.tickets) + 3))
        bare = {"ticket": str(number), "reward": 0.5}
        others = [self._told(number, 0.5) for number in range(len(self.tickets)) if number not in self.told][:3]
        forged = {"ticket": f"{number}-{urlsafe_b64encode(token)[:11].decode()}", "reward": 0.5}
        assert self.does("tell", {"rewards": [*others, forged]}).status_code == 410
        refused = self.does("tell", {"rewards": [*others, bare]})
        assert refused.status_code == (410 if number < len(self.tickets) else 404)

    @rule(
        body=st.sampled_from(
            [{}, {"rewards": []}, {"rewards": [{"ticket": "0"}]}, {"rewards": [{"ticket": 0, "reward": 1}]}]
        )
    )
    def tell_nonsense(self, body: Any) -> None:
        assert self.does("tell", body).status_code == 422

    @rule(
        name=st.sampled_from(["b1", "b2", "b3", "b4", "b5", "b6"]),
        pulls=st.fixed_dictionaries({}, optional=dict.fromkeys(ARMS, st.integers(0, 40))).filter(bool),
        mean=REWARDS,
        lift=st.booleans(),
    )
    def batch(self, name: str, pulls: dict[str, int], mean: float, lift: bool) -> None:
        """Some decide, and leave the other arms short of their floors; some do so after the stop."""
        sums = {arm: count * (mean + 20.0 * (lift and arm == "a")) for arm, count in pulls.items()}
        body = {"batch": name, "pulls": pulls, "sums": sums}
        answer = self.does("batches", body)
        trials = sum(pulls.values())
        if name in self.batches:
            same = _padded(body) == self.batches[name]
            assert answer.status_code == (200 if same else 409)
            assert not same or answer.json()["counted"] == 0
        elif trials == 0:
            assert answer.status_code == 422
        else:
            assert (answer.status_code, answer.json()["counted"]) == (200, trials)
            self.batches[name] = _padded(body)
            for arm, count in pulls.items():
                self.pulls[arm] += count
        if answer.status_code == 200:
            self.hear(answer.json())

    @rule(sure=st.sampled_from([False] * 29 + [True]))
    def close(self, sure: bool) -> None:
        if sure:
            answer = self.does("close", None)
            assert answer.status_code == 200
            assert answer.json()["stopped"]
            self.hear(answer.json())
            self.closed = True

    # --- what must hold after every call ------------------------------------------------------------------------

    @invariant()
    def the_status_is_that_of_the_model(self) -> None:
        status = self.status()
        assert {name: status[name] for name in self.answer} == self.answer
        assert status["closed"] == self.closed
        for arm in status["arms"]:
            name = arm["arm"]
            own = [number for number, label in enumerate(self.tickets) if label == name]
            told = [self.told[number] for number in own if number in self.told]
            assert arm["assigned"] == len(own) + self.pulls[name]
            assert arm["observed"] == len(told) + self.pulls[name]
            assert arm["pending"] == len(own) - len(told)
            if told and not self.pulls[name]:
                assert abs(arm["mean"] - sum(told) / len(told)) < ROUNDED

    @invariant()
    def floors_hold(self) -> None:
        """For the assigned counts, at all times; batches are assigned by others."""
        if not any(self.pulls.values()):
            least = min(self.tickets.count(arm) for arm in ARMS)
            assert least >= FLOOR * len(self.tickets) - BEHIND - ROUNDED

    @invariant()
    def floors_are_met_at_the_stop(self) -> None:
        """To the last trial, with those of batches; unless it was stopped by hand or at the decision."""
        if self.answer["stopped"] and self.settle and not self.closed:
            counts = [self.tickets.count(arm) + self.pulls[arm] for arm in ARMS]
            assert min(counts) >= FLOOR * sum(counts) - ROUNDED

    def teardown(self) -> None:
        if hasattr(self, "id"):
            with self.service.app.service.database.reader.connect() as connection:
                assert verify_experiment(connection, self.id) == []


def _padded(body: dict[str, Any]) -> Any:
    """A batch, with the arms that it does not name."""
    return [(body["pulls"].get(arm, 0), body["sums"].get(arm, 0.0)) for arm in ARMS]


@pytest.mark.parametrize("examples", [15, pytest.param(70, marks=pytest.mark.system)])
def test_any_calls(tmp_path: Path, examples: int) -> None:
    """A failure prints its calls as they are: to look for fewer that fail too would take minutes."""
    generate = settings(
        max_examples=examples, stateful_step_count=30, deadline=None, database=None, phases=[Phase.generate]
    )
    with running(address(tmp_path)) as service:
        machine = type("Machine", (AnyCalls,), {"service": service})
        run_state_machine_as_test(machine, settings=generate)
