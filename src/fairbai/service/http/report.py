"""The report of an experiment: one self-contained HTML file that loads nothing from anywhere.

Labels are arbitrary text, so all text is escaped; and the file allows only its own two scripts, by their hashes.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from fairbai.charts.live import share_of
from fairbai.service.domain.audit_answers import Audit
from fairbai.service.domain.encoding import encode
from fairbai.service.domain.status_answers import Status, Summary
from fairbai.service.http.pages.pages import plotly_js
from fairbai.service.reading.words import (
    NONE,
    decimal,
    duration,
    interval,
    mean,
    moment,
    percentage,
    short_percentage,
    together,
)

HERE = Path(__file__).with_name("pages")
EARLIER = "An earlier version created the experiment: only counts, sums and tickets were compared."
TITLES = {
    "effects": "Effects of the levels, with intervals valid for all of them at all times",
    "shares": "Shares of the trials",
    "means": "Means, with intervals valid at all times",
    "averages": "Averages over the experiment so far, with bands valid at all times",
    "evidence": "Evidence, in percent of what a decision needs, and confidence",
    "trials": "Trials over time",
}


SETTINGS = {
    "delta": "Target error probability (δ)",
    "family": "Rewards",
    "floors": "Guaranteed shares",
    "sampling": "Sampling rule",
    "stopping": "Stopping rule",
    "settle": "Settle the floors after the decision",
    "seed": "Seed",
    "lease": "Lease of a ticket",
    "report_after": "Rewards count at the age of",
    "silence": "Silence counts as",
    "cycle": "Decides at the end of every",
    "min_duration": "Decides not before",
    "tolerance": "Tolerance",
    "goal": "Goal",
    "control": "Control",
    "max_trials": "Trials at most",
    "deadline": "Deadline",
    "sample_ratio": "Level of the sample-ratio check",
    "retention": "Kept after its end for",
    "flag": "Flag",
    "values": "Values of the arms",
    "bulk": "Assigned when all flags are evaluated",
}
GOALS = {"max": "higher is better", "min": "lower is better"}


class Parts(NamedTuple):
    """The parts that all reports share."""

    library: str
    drawing: str
    style: str
    policy: str


@lru_cache(maxsize=1)
def _parts() -> Parts:
    library = plotly_js().read_text(encoding="utf-8")
    drawing = (HERE / "report.js").read_text(encoding="utf-8")
    if "</script" in library or "</script" in drawing:
        raise ValueError("a script inside a page must not contain its own end tag")
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in (library, drawing))
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    return Parts(library, drawing, (HERE / "report.css").read_text(encoding="utf-8"), policy)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def written(status: Status, summary: Summary, audit: Audit, figures: dict[str, dict[str, Any]]) -> str:
    """The report, from the answers of the calls of the same names."""
    parts, name = _parts(), escape(status["name"])
    charts = "".join(
        f'<section><h2>{TITLES[chart]}</h2><div class="figure" id="figure-{chart}"></div></section>'
        for chart in figures
    )
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{parts.policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name}</title>\n<style>\n{parts.style}</style></head><body>",
            f'<header><h1>{name}</h1><p class="sentence">{_text(summary["headline"])}</p>',
            f"<p>{_text(summary['more'])}</p>{_waits(status)}<p>{_text(status['question'])}</p></header>",
            _effects(status),
            f"<section><h2>Arms</h2>{_arms(status)}{_learning_cost(summary)}</section>",
            charts,
            f"<section><h2>Guarantees</h2>{_audit(audit)}</section>",
            f"<section><h2>Settings</h2>{_settings(status, audit)}</section>",
            f"<footer>Experiment {escape(status['id'])}, created on {moment(status['created_at'])}, event "
            f"{status['version']:,} of its log. Made by fairbai {escape(audit['library'])}.</footer>",
            f'<script type="application/json" id="figures">{_data(figures)}</script>',
            f"<script>{parts.library}</script>",
            f"<script>{parts.drawing}</script>",
            "</body></html>\n",
        ]
    )


def _data(content: Any) -> str:
    """JSON in which no browser can find the end tag of a script."""
    text = json.dumps(content, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _text(sentence: str) -> str:
    return escape(together(sentence))


def _waits(status: Status) -> str:
    return "" if status["waits"] is None else f"<p>{_text(status['waits']['sentence'])}</p>"


def _arms(status: Status) -> str:
    kind = status["config"]["family"]["kind"]
    rows = [
        [
            arm["arm"],
            f"{arm['assigned']:,}",
            f"{arm['observed']:,}",
            short_percentage(share_of(arm)),
            short_percentage(arm["floor"]),
            mean(arm.get("average", arm["mean"]), kind),
            NONE if arm["mean"] is None else interval(arm["interval"], kind),
            _place(arm["arm"], arm["candidate"], status),
        ]
        for arm in status["arms"]
    ]
    reward = "Average reward" if "estimand" in status else "Mean reward"
    share = "Share while available" if "available" in status["arms"][0] else "Share"
    return _table(["Arm", "Trials", "Rewards", share, "Floor", reward, "Interval", "Place"], rows)


def _effects(status: Status) -> str:
    """What every level adds, in an experiment with factors; else nothing."""
    rows = [
        [
            f"{one['factor']}: {one['level']}",
            mean(one["effect"]),
            NONE if one["effect"] is None else interval(one["interval"]),
            short_percentage(one["share"]),
            short_percentage(one["floor"]),
        ]
        for one in status.get("effects", [])
    ]
    heads = ["Level", "Difference from the average combination", "Interval", "Share", "Floor"]
    return f"<section><h2>Effects</h2>{_table(heads, rows)}</section>" if rows else ""


def _learning_cost(summary: Summary) -> str:
    cost = summary["learning_cost"]
    if cost is None:
        return ""
    low, high, sure = decimal(cost["low"]), decimal(cost["high"]), percentage(summary["target_confidence"])
    limits = f" With {sure} confidence it is between {low} and {high}." if cost["high"] is not None else ""
    return (
        f"<p>What learning cost: about {decimal(cost['estimate'])}, in the unit of the rewards. That is what the "
        f"trials of the other arms forwent, by the estimated means, compared with the leading one in every trial; the "
        f"floors alone would forgo about {decimal(cost['floors'])}.{together(limits)}</p>"
    )


def _place(arm: str, candidate: bool | None, status: Status) -> str:
    """Where an arm is in the race."""
    control = "control, " if arm == status["control"] else ""
    if arm == status["recommendation"]:
        answer = "answer" if status["proved"] else "answer, not proved"
        return control + (answer if status["decided"] else "best guess" if status["stopped"] else "ahead")
    left = "not excluded" if status["decided"] else "in the race"
    return control + {None: "–", True: left, False: "excluded"}[candidate]


def _audit(audit: Audit) -> str:
    promised = "".join(f"<li>{_text(sentence)}</li>" for sentence in audit["promise"]["sentences"])
    found = "".join(f"<li>{_text(sentence)}</li>" for sentence in audit["findings"])
    rows = [
        [
            arm["arm"],
            decimal(arm["behind"]),
            decimal(arm["behind_allowed"]),
            decimal(arm["above"]),
            decimal(arm["missing"]),
        ]
        for arm in audit["arms"]
    ]
    heads = ["Arm", "Furthest behind its floor (trials)", "Allowed", "Furthest above its ceiling", "Missing at the end"]
    return f"<ul>{promised}</ul><h3>Findings</h3><ul>{found}</ul>{_replay(audit)}{_table(heads, rows)}"


def _replay(audit: Audit) -> str:
    replay = audit["replay"]
    if replay is None:
        return "<p>The log has not been replayed.</p>"
    differs = _differences(len(replay["differences"]))
    note = f" {EARLIER}" if replay["earlier"] else ""
    return f"<p>The log was replayed on {moment(replay['at'])}: {replay['checked']:,} events, {differs}.{note}</p>"


def _differences(count: int) -> str:
    return "no differences" if count == 0 else f"{count} difference{'' if count == 1 else 's'}"


def _settings(status: Status, audit: Audit) -> str:
    labels, config = [arm["arm"] for arm in status["arms"]], audit["settings"]
    rows = [[SETTINGS.get(name, name), _setting(name, config[name], labels)] for name in config]
    return _table(["Setting", "Value"], rows, words=True)


def _setting(name: str, value: Any, labels: list[str]) -> str:
    """A setting in words: "constant (floor 25 %)" rather than JSON."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "delta":
        return percentage(value)
    if name in ("lease", "report_after"):
        return value if isinstance(value, str) else duration(value)
    if name == "goal":
        return GOALS[value]
    if name in ("deadline", "max_trials"):
        return moment(value) if name == "deadline" else f"{value:,}"
    if name == "values":
        return "; ".join(f"{label}: {encode(one)}" for label, one in value.items())
    if not isinstance(value, dict):
        return decimal(value) if isinstance(value, float) else str(value)
    kind = str(value.get("kind", "yes")).replace("_", " ")
    given = {key: one for key, one in value.items() if key != "kind" and (kind != "bounded" or one is not None)}
    inner = [f"{key.replace('_', ' ')} {_parameter(key, one, labels)}" for key, one in given.items()]
    return f"{kind} ({'; '.join(inner)})" if inner else kind


def _parameter(name: str, value: Any, labels: list[str]) -> str:
    """A parameter of a rate or rule; lists of one number per arm are shown with the labels."""
    share = name in ("floor", "ceiling")
    if name == "variance" and value is None:
        return "unknown"
    if isinstance(value, list) and len(value) == len(labels) and not any(isinstance(one, dict) for one in value):
        shown = zip(labels, value, strict=True)
        return ", ".join(f"{label}: {_parameter(name, one, labels)}" for label, one in shown)
    if isinstance(value, list):
        return ", ".join(_parameter(name, one, labels) for one in value) or "none"
    if isinstance(value, dict):  # a group: arms, by number, and what they get together
        return _group(value, labels) if "floor" in value else str(value)
    if isinstance(value, bool) or value is None:
        return _setting(name, value, labels)
    if isinstance(value, int | float):
        return percentage(value) if share else f"{value:,.6g}"
    return str(value)


def _group(form: dict[str, Any], labels: list[str]) -> str:
    arms, floor = ", ".join(labels[arm] for arm in form["arms"]), percentage(form["floor"])
    if "ceiling" not in form:
        return f"{arms}: {floor}"
    ceiling = percentage(form["ceiling"])
    return f"{arms}: {floor} to {ceiling}" if form["floor"] > 0.0 else f"{arms}: at most {ceiling}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], words: bool = False) -> str:
    side = f' class="{"words" if words else "number"}"'
    head = "".join(f'<th scope="col"{side}>{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td{side}>{_text(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
