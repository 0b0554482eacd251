"""What is wrong with a request, in the words of who sent it: the member, what is expected there, and what came."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairbai.service.domain.cycles import PATTERN

PRINTABLE = r"^[^\x00-\x1f\x7f]+$"  # some databases and terminals reject control characters
PRINTABLE_OR_EMPTY = r"^[^\x00-\x1f\x7f]*$"
SEED = "^[0-9a-f]{32}$"
AN_ID = "^[0-9a-f]+$"
FLAG = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
PATTERNS = {
    PRINTABLE: "text without control characters, such as tabs and line breaks",
    PRINTABLE_OR_EMPTY: "text without control characters, such as tabs and line breaks",
    PATTERN: "a whole number and a unit (s, m, h, d or w), such as 7d, or a whole number of seconds",
    SEED: "the seed of a policy, 32 hexadecimal digits",
    AN_ID: "the `next` of the page before",
    FLAG: "letters, digits and . _ -, at most 100, beginning with a letter or a digit",
}
NUMBER, WHOLE, TEXT, SWITCH, OBJECT = "a number", "a whole number", "text", "true or false", "an object"
EXPECTED = {  # by pydantic's types of errors
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_from_float": WHOLE,
    "string_type": TEXT,
    "string_unicode": TEXT,
    "bool_type": SWITCH,
    "bool_parsing": SWITCH,
    "list_type": "a list",
    "dict_type": OBJECT,
    "model_type": OBJECT,
    "model_attributes_type": OBJECT,
    "finite_number": "a finite number",
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "string_too_long": "at most {max_length} characters long",
}
ENTRIES = {"too_short": ("at least", "min_length"), "too_long": ("at most", "max_length")}
MAX_SHOWN = 60  # characters of what came
NUMBERED = re.compile(r"(?<!['\"“])\barm (\d+)\b(?!['\"”])")


def worded(error: Mapping[str, Any], body: Any, members: Sequence[str] = ()) -> str:
    """An error of pydantic as a sentence.

    Args:
        error: As ``ValidationError.errors`` gives it.
        body: All that was sent: a place that it does not have is the name of a type and is left out.
        members: What the outermost object may have.
    """
    kind, given = error["type"], error.get("ctx", {})
    place = _place(error["loc"], body, missing=kind == "missing")
    if kind == "missing":
        return f"{place} must be given"
    if kind == "extra_forbidden":
        known = f"; it may have {', '.join(members)}" if len(error["loc"]) == 1 and members else ""
        return f"{place} is not a member of this request{known}"
    if kind == "json_invalid":
        return f"{place} must be JSON: {given['error']}"
    if kind == "value_error":
        return str(given["error"])
    if kind == "string_too_short":
        return f"{place} must not be empty"
    if kind in ENTRIES:
        bound, name = ENTRIES[kind]
        found = given["actual_length"]  # None where pydantic stopped counting
        return f"{place} must have {bound} {_entries(given[name])}, got {'more' if found is None else f'{found:,}'}"
    came = "" if "unit" in error["loc"] else f", got {shown(error['input'])}"  # which may be a name
    expected = _expected(kind, given)
    if expected is not None:
        return f"{place} must be {expected}{came}"
    told = str(error["msg"])  # in our own words
    return f"{place} {told}{came}" if told.startswith("must ") else told


def _expected(kind: str, given: Mapping[str, Any]) -> str | None:
    """What belongs in a place; None where pydantic's own type says nothing about it."""
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(given["pattern"], f"text that matches {given['pattern']}")
    found = EXPECTED.get(kind)
    return None if found is None else found.format_map({name: _limit(value) for name, value in given.items()})


def _limit(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _place(where: Sequence[int | str], body: Any, missing: bool) -> str:
    """Where an error is: ``rewards[0].reward``."""
    place, here = "", body
    for number, part in enumerate(where):
        last = missing and number == len(where) - 1
        if isinstance(here, dict) and (part in here or last):
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            continue
        place += _step(part, first=not place)
    return place or "the body"


def _step(part: int | str, first: bool) -> str:
    if isinstance(part, int) or not re.fullmatch(r"[A-Za-z_]\w*", part):
        return f"[{json.dumps(part, ensure_ascii=False)}]"
    return part if first else f".{part}"


def shown(value: Any) -> str:
    """What came, as JSON; only its beginning if it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def by_label(text: str, labels: Sequence[str]) -> str:
    """An error of the library about numbered arms, with their labels: "for arm 1" becomes "for 'blue'"."""

    def label(found: re.Match[str]) -> str:
        arm = int(found[1])
        return repr(labels[arm]) if arm < len(labels) else found[0]

    return NUMBERED.sub(label, text)
