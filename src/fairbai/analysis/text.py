"""The report that an analysis prints as."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairbai.analysis import sentences
from fairbai.simulation.tables import aligned

if TYPE_CHECKING:
    from fairbai.analysis.analysis import Analysis

MAX_ROWS = 50  # arms
WIDTH = 100


def report(found: "Analysis") -> str:
    """A short report."""
    doubts = [f"DOUBT: {doubt.reason}, evident after {doubt.trial:,} trials." for doubt in found.doubts]
    parts = [
        _filled([title(found)]),
        _filled(sentences.answers(found)),
        table(found),
        _filled([*sentences.sample_ratio(found), *sentences.drift(found), *doubts, sentences.family(found)]),
        "\n".join(["What is guaranteed:", _filled(sentences.guarantee(found), "- ")]),
        _filled([*(f"Note: {note}" for note in found.notes), *(f"Hint: {hint}" for hint in found.hints)]),
    ]
    return "\n\n".join(part for part in parts if part)


def _filled(lines: Iterable[str], bullet: str = "") -> str:
    """Paragraphs of one sentence or two, broken into lines."""
    after = " " * len(bullet)
    filled = (textwrap.fill(line, WIDTH, initial_indent=bullet, subsequent_indent=after) for line in lines)
    return "\n".join(filled)


def title(found: "Analysis") -> str:
    """What was analyzed."""
    start, end = found.time_of(1), found.time_of(found.trials)
    span = "" if start is None else f", from {start} to {end}"
    return f"{found.source}: {found.trials:,} trials of {len(found.arms.labels)} arms{span}."


def table(found: "Analysis") -> str:
    """The arms in aligned columns."""
    header, rows = cells(found)
    left = len(found.arms.labels) - len(rows)
    text = aligned(header, rows)
    return f"{text}\n({left} more arms with fewer trials)" if left > 0 else text


def cells(found: "Analysis") -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of the table of the arms."""
    arms, race, rows = found.arms, found.candidates, []
    averages = None if found.drift_proof is None else found.drift_proof.last
    most = sorted(range(len(arms.labels)), key=lambda arm: -arms.trials[arm])[:MAX_ROWS]
    for arm in sorted(most):
        label, (low, high) = arms.labels[arm], arms.intervals[arm]
        row = [str(label), f"{arms.trials[arm]:,.0f}", f"{100 * arms.trials[arm] / found.trials:.2f} %"]
        row += [sentences.unit(found, float(arms.means[arm]))]
        row += [f"{sentences.unit(found, float(low))} to {sentences.unit(found, float(high))}"]
        if averages is not None:
            row += [sentences.unit(found, float(averages.estimates[arm]))]
        ahead = "leads" if found.question.control is None else "answer so far"
        said = ahead if label == found.leader else "" if race is None or label in race else "excluded"
        said = "the answer" if label == found.answer != found.leader else said
        rows.append([*row, said])
    average = [] if averages is None else ["average"]
    holds = "but doubtful" if found.guarantee == "doubted" else "at all times"
    interval = f"interval, {sentences.percent(1.0 - found.delta)} {holds}"
    return ["arm", "trials", "share", "mean", interval, *average, ""], rows
