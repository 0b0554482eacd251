"""A wait names the ticket that is waited for, and until when: in the status, the summary, the audit and the report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.domain.encoding import iso, timestamp
from fairbai.service.reading.words import moment, together
from tests.service.running import Local, address, ask, create, running, tell
from tests.service.test_log import differences, expire

DAY = 86_400.0
DRAWN: dict[str, Any] = {"family": "bernoulli", "stopping": "design_based"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def begun(client: Local, missing: int, told: int, **options: Any) -> tuple[str, list[str]]:
    """An experiment of which one ticket has no reward, and those before and after it have."""
    at = create(client, **{**DRAWN, **options})
    tickets = [ticket["ticket"] for ticket in ask(client, at, told + 1)]
    tell(client, at, dict.fromkeys([*tickets[:missing], *tickets[missing + 1 :]], 1.0))
    return at, tickets


def test_a_wait_names_its_ticket_and_its_end(client: Local, tmp_path: Path) -> None:
    began = time.time()
    at, _ = begun(client, 17, 1225)
    status = client.get(at).json()
    waits = status["waits"]
    assert (waits["rewards"], waits["ticket"], waits["reward"], waits["counts_as"]) == (1208, 17, None, 0.0)
    assert waits["arm"] in ("a", "b", "c")
    assert timestamp(waits["since"]) == pytest.approx(began, abs=60.0)
    assert timestamp(waits["until"]) == pytest.approx(began + DAY, abs=60.0)
    assert waits["sentence"] == (
        f"1,208 rewards wait for ticket 17, which has had no reward since {moment(waits['since'])}; "
        f"it is counted as 0 on {moment(waits['until'])}."
    )
    assert client.get(f"{at}/summary").json()["sentence"].endswith(waits["sentence"])
    assert waits["sentence"] in client.get(f"{at}/audit").json()["findings"]
    assert together(waits["sentence"]) in client.get(f"{at}/report").text
    assert expire(client, began + 2.0 * DAY) == 1
    assert client.get(at).json()["waits"] is None
    assert differences(tmp_path) == [[]]


def test_a_wait_ends_with_the_reward(client: Local) -> None:
    at, tickets = begun(client, 0, 3)
    assert client.get(at).json()["waits"]["rewards"] == 3
    tell(client, at, {tickets[0]: 0.0})
    assert client.get(at).json()["waits"] is None


def test_a_unit_may_earn_more_until_its_window_is_over(client: Local) -> None:
    at = create(client, **DRAWN)
    for visitor in ("one", "two"):
        client.post(f"{at}/ask", json={"unit": visitor})
        client.post(f"{at}/rewards", json={"unit": visitor, "value": 1.0, "event_id": visitor})
    waits = client.get(at).json()["waits"]
    until = moment(waits["until"])
    assert waits["sentence"] == f"1 reward waits for ticket 0, which may earn more until {until}."
    assert (waits["reward"], waits["counts_as"]) == (1.0, 1.0)


def test_silence_has_the_unit_of_the_rewards(client: Local) -> None:
    family = {"kind": "bounded", "low": -5.0, "high": 400.0}
    at, _ = begun(client, 2, 5, family=family, report_after=3600.0, silence=-5.0)
    assert "it is counted as -5 on " in client.get(at).json()["waits"]["sentence"]


@pytest.mark.parametrize("options", [{}, {"report_after": 3600.0}])
def test_nothing_waits_where_tickets_have_no_order(client: Local, options: dict[str, Any]) -> None:
    """Without one ticket the others count all the same, at once or at their own age."""
    at, _ = begun(client, 2, 5, stopping="mixture", **options)
    assert client.get(at).json()["waits"] is None


def test_moments_are_words() -> None:
    assert moment(iso(1_772_374_920.0)).replace("\u00a0", " ") == "1 Mar 2026 at 14:22 UTC"


# --- how sure it is, in the list and on the page ----------------------------------------------------------------


def test_the_list_is_as_sure_as_the_status(client: Local) -> None:
    """Also where the arm that leads has just changed: the list said that nothing is known, and the page 0 %."""
    at = create(client, family="bernoulli", delta=0.001)
    named = set()
    for number in range(120):
        tell(client, at, {ticket["ticket"]: float(number % 3 == 0) for ticket in ask(client, at)})
        status, (line,) = client.get(at).json(), client.get("/v1/experiments").json()["experiments"]
        assert (line["confidence"] is None) == (status["confidence"] is None)
        if status["confidence"] is not None:
            assert line["confidence"] == pytest.approx(status["confidence"], abs=0.1)
        named.add(status["recommendation"])
    assert len(named) > 2  # None, and two arms or more
