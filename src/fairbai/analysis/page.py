"""An analysis as one self-contained HTML page, which loads nothing and runs no script.

Labels and file names are arbitrary text, so all text is escaped.
"""

import base64
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from fairbai import __version__
from fairbai.analysis import sentences, text

if TYPE_CHECKING:
    from fairbai.analysis.analysis import Analysis

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
CAPTIONS = {
    "means": "The mean reward of every arm, with its interval. The leader is the diamond, the others are circles.",
    "evidence": "The evidence that the leader at the time is the best arm, in per cent of what is needed to decide.",
    "ratio": "How strongly the log contradicts the shares in which arms should have been assigned.",
    "shares": "The share of every arm and, where one is declared or assumed, the share that it should have had.",
    "over_time": "The rewards over time, of the arms with the most trials.",
}


def page(found: "Analysis") -> str:
    """The page, as text."""
    title = "What the log says"
    style = files("fairbai.analysis").joinpath("page.css").read_text(encoding="utf-8")
    checks = [*sentences.sample_ratio(found), *sentences.drift(found), *_doubts(found), sentences.family(found)]
    hints = _section("Hints and notes", _list([*found.hints, *found.notes])) if found.hints or found.notes else ""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(found.source)}: {title.lower()}</title>\n<style>\n{style}</style></head>",
            f'<body class="{found.guarantee}"><header><h1>{title}</h1><p>{escape(text.title(found))}</p>',
            *(f'<p class="sentence">{_text(line)}</p>' for line in sentences.answers(found)),
            "</header>",
            _section("Arms", _table(*text.cells(found))),
            _section("Checks", _list(checks)),
            _section("Pictures", f'<div class="figures">{_pictures(found)}</div>'),
            _section("What is guaranteed", _list(sentences.guarantee(found))),
            hints,
            f"<footer>fairbai {escape(__version__)}</footer></body></html>\n",
        ]
    )


def _doubts(found: "Analysis") -> list[str]:
    return [f"DOUBT: {doubt.reason}, evident after {doubt.trial:,} trials." for doubt in found.doubts]


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _list(lines: Sequence[str]) -> str:
    """A list in which what is said in capitals stands out."""
    items = (f"<li{_alert(line)}>{_text(line)}</li>" for line in lines)
    return f"<ul>{''.join(items)}</ul>"


def _text(line: str) -> str:
    """A sentence in which no line breaks between a number and its percent sign."""
    return escape(re.sub(r"(?<=\d) %", "\u202f%", line))


def _alert(line: str) -> str:
    return ' class="alert"' if line[:5].isupper() else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _pictures(found: "Analysis") -> str:
    from fairbai.charts import logs, style  # they need Matplotlib

    form, parts = found.to_dict(), []
    drawn = logs.panels(form)
    for name, caption in CAPTIONS.items():
        if name in drawn:
            embedded = base64.b64encode(style.svg(logs.picture(name, form)).encode()).decode()
            image = f'<img alt="{escape(caption)}" src="data:image/svg+xml;base64,{embedded}">'
            parts.append(f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>")
    return "".join(parts)
