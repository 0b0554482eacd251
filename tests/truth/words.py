"""Findings about pages, messages and names."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fairbai as fb
from fairbai.analysis.page import CAPTIONS
from fairbai.service.http.pages import layout, pages
from fairbai.service.reading.words import mean, moment
from tests.service.running import Local, address, ask, create, running, tell
from tests.truth.finding import Figure, Finding

DRAWN: dict[str, Any] = {"family": "bernoulli", "stopping": "design_based"}


@contextmanager
def _service() -> Iterator[Local]:
    with TemporaryDirectory() as folder, running(address(Path(folder))) as client:
        yield client


def _static(name: str) -> str:
    return (pages.STATIC / name).read_text(encoding="utf-8")


def _revenue() -> Figure:
    """What the page offers for revenue, and what it says of the other families."""
    offered = re.findall(r'<option value="(\w+)">([^<]*)</option>', layout.assemble("plan.html"))
    families = [kind for kind, words in offered if "revenue" in words]
    form = {"arms": ["a", "b"], "means": [10.0, 12.0], "delta": 0.05, "rates": 0.2}
    kinds: dict[str, dict[str, Any]] = {
        "bounded": {"kind": "bounded", "low": 0.0, "high": 400.0, "variance": 400.0},
        "gaussian": {"kind": "gaussian", "variance": None, "guess": 400.0},
    }
    with _service() as client:
        said = {kind: client.post("/v1/plan", json={**form, "family": family}).json()["proved_if"]
                for kind, family in kinds.items()}  # fmt: skip
    holds = families == ["bounded"] and said["bounded"].endswith("every reward is from 0 to 400")
    return Figure(
        f"revenue is {' or '.join(families)}; Gaussian is proved if {said['gaussian']}",
        holds and "which revenue is not" in said["gaussian"],
    )


def _lost_ticket() -> Figure:
    """One of 1,226 rewards is never told."""
    with _service() as client:
        at = create(client, **DRAWN)
        tickets = [ticket["ticket"] for ticket in ask(client, at, 1226)]
        tell(client, at, dict.fromkeys(tickets[:17] + tickets[18:], 1.0))
        wait = client.get(at).json()["waits"]["sentence"]
        audit = client.get(f"{at}/audit").json()["findings"]
        summary = client.get(f"{at}/summary").json()["sentence"]
    begins = "1,208 rewards wait for ticket 17, which has had no reward since "
    tomorrow = moment(f"{time.strftime('%Y-%m-%dT%H:%M', time.gmtime(time.time() + 86_400))}")[:6]
    holds = (
        wait.startswith(begins) and f"it is counted as 0 on {tomorrow}" in wait and wait in audit and wait in summary
    )
    return Figure(wait.replace("\u00a0", " "), holds)


def _lost_trial() -> Figure:
    """The same in the library."""
    ident = fb.Identifier(
        "ab", 0.05, "bernoulli", rates=0.2, stopping="design_based", report_after=100, silence=0, seed=1
    )
    trials = ident.ask_trial(30)
    ident.tell(trials[:17] + trials[18:], [1.0] * 29)
    said = ident.status().sentence()
    counted = "12 rewards wait for trial 17, which has no reward: after 88 further trials it counts as 0."
    after = [ident.ask_trial().number for _ in range(88)]
    return Figure(counted, said.endswith(counted) and ident.status().waits is None and len(after) == 88)


def _fields() -> Figure:
    ids = set(re.findall(r' id="([\w-]+)"', layout.assemble("plan.html")))
    wanted = {"window", "silence", "cycle", "enrol", "after-stop", "earnings", "flag", "low", "high"}
    return Figure(f"{len(wanted & ids)} of {len(wanted)} fields", wanted <= ids)


def _report() -> Figure:
    """The formats and the style of the table of the arms."""
    with _service() as client:
        at = create(client, family="bernoulli", arms=["a", "b"])
        tickets = [ticket["ticket"] for ticket in ask(client, at, 200)]
        tell(client, at, {ticket: float(number % 19 == 0) for number, ticket in enumerate(tickets)})
        shown = mean(client.get(at).json()["arms"][0]["mean"], "bernoulli")
        text = client.get(f"{at}/report").text
    rules = dict(re.findall(r"([^{}]+)\{([^{}]*)\}", text[text.index("<style>") : text.index("</style>")]))
    breaks = [
        selector for selector, rule in rules.items() if "anywhere" in rule and re.search(r"\btd,|\bth,", selector)
    ]
    return Figure(f"a mean is {shown}; {len(breaks)} rules break words", f">{shown}<" in text and not breaks)


def _diamond() -> Figure:
    """The caption, beside the colours of the leader in the picture."""
    return Figure(CAPTIONS["means"], "green" not in CAPTIONS["means"] and "diamond" in CAPTIONS["means"])


def _list() -> Figure:
    """In how many of 120 moments the list does not know what the page knows."""
    unknown = 0
    with _service() as client:
        at = create(client, family="bernoulli", delta=0.001)
        for number in range(120):
            tell(client, at, {ticket["ticket"]: float(number % 3 == 0) for ticket in ask(client, at)})
            (line,) = client.get("/v1/experiments").json()["experiments"]
            unknown += (line["confidence"] is None) != (client.get(at).json()["confidence"] is None)
    once = _static("experiments.js").count("surely(") > 0 and _static("experiment.js").count("surely(") > 0
    return Figure(f"the list does not know in {unknown} of 120", unknown == 0 and once)


def _snippet() -> Figure:
    code = _static("snippets.js")
    asks = re.findall(r"/ask.*|client\.ask\(.*", code)
    without = [one for one in asks if "unit" not in one and not one.endswith("\\\\")]
    return Figure(f"{len(without)} of {len(asks)} asks without a unit", bool(asks) and not without and "unit" in code)


def _small_things() -> Figure:
    """Times, p-values, help, and where the card of a success is."""
    times = [1_767_225_600.0 + 60.0 * second for second in range(400)]
    data = {"arm": ["A", "B"] * 200, "reward": [0, 1, 1, 0] * 100, "t": times}
    said = str(fb.analyze(data, time="t"))
    plan, frame = layout.assemble("plan.html"), layout.assemble("experiments.html")
    checks = {
        "times": "2026-01-01T00:00:00Z" in said,
        "p-values": "nothing speaks against" not in said and "a mismatch is" in said,
        "help": all(f'href="/docs{place}"' in frame for place in ("", "#glossary", "#api")),
        "the card": plan.index('id="started"') < plan.index('id="form"'),
    }
    wrong = [name for name, holds in checks.items() if not holds]
    return Figure(f"{len(checks)} of {len(checks)} mended" if not wrong else f"not: {', '.join(wrong)}", not wrong)


FINDINGS: list[Finding] = [
    Finding("trial 4", "pages know bounded rewards, and revenue is not called proved", "revenue is gaussian", _revenue),
    Finding(
        "trial 5", "a wait names its ticket and its end", "2,092 of 12,000 counted, and nothing said", _lost_ticket
    ),
    Finding("trial 5 (library)", "a wait names its trial and its end", "nothing said", _lost_trial),
    Finding("trial 5 (form)", "the form has window, silence, cycle, visitors and flag", "0 of them", _fields),
    Finding("trial 13", "the report has the formats of the page", '.05247; "Tria/ls", "8,31/6"', _report),
    Finding("trial 13 (analyze)", "the caption of the leader is true", '"the green diamond", which is black', _diamond),
    Finding("trial 14", "list and page agree how sure it is", '"not known" against 0.0', _list),
    Finding("trial 19", "visitors keep their variant", "no ask has a unit", _snippet),
    Finding("trial 21", "times, p-values, help and success are readable", "4 of 4 wrong", _small_things),
]
