"""The report: numbers as on the page, and columns that break no word and no number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairbai.service.http.pages import pages
from fairbai.service.reading.words import NARROW, decimal, duration, interval, mean, short_percentage
from tests.service.running import address, ask, create, running, tell


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (0.05247, "bernoulli", f"5.25{NARROW}%"),
        (0.2, "bernoulli", f"20{NARROW}%"),
        (0.052, "bernoulli", f"5.2{NARROW}%"),
        (0.05247, "bounded", "0.05247"),
        (1234567.0, "gaussian", "1,235,000"),
        (-0.00001234, "gaussian", "-0.00001234"),
        (12.0, "gaussian", "12"),
        (100.0, "gaussian", "100"),
        (0.0, "gaussian", "0"),
        (None, "bernoulli", "–"),
    ],
)
def test_means_are_as_on_the_page(value: float | None, kind: str, expected: str) -> None:
    assert mean(value, kind) == expected


def test_other_numbers() -> None:
    assert interval([None, 0.5], "bernoulli") == f"−∞ to 50{NARROW}%"
    assert short_percentage(-1e-9) == f"0{NARROW}%"
    assert decimal(0.8333333) == "0.8333"
    assert [duration(seconds) for seconds in (86_400.0, 5_400.0, 2.5, 1.0)] == [
        *("1 day", "90 minutes", "2.5 seconds", "1 second"),
    ]


def test_the_table_of_the_arms(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, family="bernoulli")
        tickets = [ticket["ticket"] for ticket in ask(client, at, 200)]
        tell(client, at, {ticket: float(number % 7 == 0) for number, ticket in enumerate(tickets)})
        text = client.get(f"{at}/report").text
        status = client.get(at).json()
    for arm in status["arms"]:
        assert f'<td class="number">{mean(arm["mean"], "bernoulli")}</td>' in text
    assert "T" not in re.findall(r"created on ([^,]+)", text)[0].replace("UTC", "")  # 19 Nov 2026 at 14:02 UTC


def test_only_labels_and_words_may_break() -> None:
    """Numbers may not, and neither may the heads of their columns, except between words."""
    style = pages.STATIC.with_name("report.css").read_text(encoding="utf-8")
    rules = dict(re.findall(r"([^{}]+)\{([^{}]*)\}", style))
    breaking = [selector.strip() for selector, rule in rules.items() if "anywhere" in rule or "break-all" in rule]
    assert breaking == ['th[scope="row"],\ntd.words']
    assert "nowrap" in next(rule for selector, rule in rules.items() if selector.strip() == "td.number")
