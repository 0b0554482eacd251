"""The log of an experiment as csv, ndjson or parquet: one row per ticket, in chronological order."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, zip_longest
from typing import Any

from sqlalchemy import bindparam, select

from fairbai.service.domain.encoding import decode, encode, iso
from fairbai.service.domain.tickets import shown
from fairbai.service.reading.reader import row_of
from fairbai.service.storage.bulk import Chosen
from fairbai.service.storage.database import Database
from fairbai.service.storage.logs import part_of_log
from fairbai.service.storage.schema import tickets

COLUMNS = (
    *("sequence", "at", "kind", "ticket", "arm", "reward", "late", "pulls", "detail", "probability", "actor"),
    "full_ticket",  # as clients know it; beside the number, as columns only ever are added
)
OF_TICKETS = ("asked", "told", "earned", "counted", "expired", "voided")
TOKENS = Chosen(
    select(tickets.c.number, tickets.c.token).where(tickets.c.experiment == bindparam("of_experiment")),
    tickets.c.number,
)
MAX_LINES = 5_000  # per piece
# What a spreadsheet would take for a formula: one of these characters at the beginning of a cell, also of one that it
# makes itself, because in its language semicolons separate cells. Blanks and quotes before it do not help.
SIGNS = "=+@\\-＝＋－＠"
BLANK = r"[\s\"\u200b-\u200f\u2060\ufeff]*"
FORMULA = re.compile(rf"(^|[;|\t\r\n])(?={BLANK}[{SIGNS}])")
FORMULA_IN_JSON = re.compile(rf'([;|](?:\s|\\?")*)([{SIGNS}])')
MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
Line = dict[str, Any]
Tokens = dict[int, int | None]


def export(database: Database, experiment: str, form: str) -> Iterator[bytes]:
    """The log as it is now, in pieces."""
    row = row_of(database, experiment)
    labels = json.loads(row.config)["arms"]
    lines = (line for event in _events(database, experiment, row.version) for line in _lines(*event, labels))
    return {"csv": _csv, "ndjson": _ndjson, "parquet": _parquet}[form](_pieces(lines))


def _events(database: Database, experiment: str, end: int) -> Iterator[tuple[Any, dict[str, Any], Tokens]]:
    """The log with its data and the tokens in it, each part from short transactions: a slow client blocks nothing."""
    after = 0
    while after < end:
        with database.reader.connect() as connection:
            part = part_of_log(connection, experiment, after, end)
        if not part:
            return
        decoded = [decode(row.data) for row in part]
        numbers = {number for row, data in zip(part, decoded, strict=True) for number in _numbers(row.kind, data)}
        with database.reader.connect() as connection:
            tokens = dict(TOKENS.run(connection, numbers, of_experiment=experiment))
        for row, data in zip(part, decoded, strict=True):
            yield row, data, tokens
        after = part[-1].sequence


def _numbers(kind: str, data: dict[str, Any]) -> Sequence[int]:
    """The tickets of an event."""
    if kind not in OF_TICKETS:
        return ()
    return range(data["first"], data["first"] + data["n"]) if kind == "asked" else data["tickets"]


def _pieces(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Lists of ``MAX_LINES`` lines."""
    while piece := list(islice(lines, MAX_LINES)):
        yield piece


def _lines(row: Any, data: dict[str, Any], tokens: Tokens, labels: list[str]) -> Iterator[Line]:
    """One line per ticket or arm of an event; a single line if it has none."""

    def named(number: int) -> Line:
        return {"ticket": str(number), "full_ticket": shown(number, tokens.get(number))}

    line = dict.fromkeys(COLUMNS) | {"sequence": row.sequence, "at": iso(row.at), "kind": row.kind, "actor": row.actor}
    if row.kind == "asked":
        chances = data.get("probabilities", ())
        if "available" in data:
            line["detail"] = encode({"available": [labels[arm] for arm in data["available"]]})
        for number, (arm, chance) in enumerate(zip_longest(data["arms"], chances), data["first"]):
            yield line | {**named(number), "arm": labels[arm], "probability": chance}
    elif row.kind in ("told", "earned"):
        late = set(data["late"])
        for number, arm, reward in zip(data["tickets"], data["arms"], data["rewards"], strict=True):
            yield line | {**named(number), "arm": labels[arm], "reward": reward, "late": number in late}
    elif row.kind == "counted":
        for number, arm, reward in zip(data["tickets"], data["arms"], data["rewards"], strict=True):
            yield line | {**named(number), "arm": labels[arm], "reward": reward}
    elif row.kind == "voided":
        why = encode({"reason": data["reason"], "after_decision": data["after_decision"]})
        for number, arm, reward in zip(data["tickets"], data["arms"], data["rewards"], strict=True):
            yield line | {**named(number), "arm": labels[arm], "reward": reward, "detail": why}
    elif row.kind == "switched_off":
        yield line | {"arm": labels[data["arm"]], "detail": encode({"reason": data["reason"]})}
    elif row.kind == "expired":
        for number, arm in zip(data["tickets"], data["arms"], strict=True):
            yield line | {**named(number), "arm": labels[arm]}
    elif row.kind == "batch":
        name = row.key.split(":", 2)[2]
        drawn = {key: data[key] for key in ("policy", "squares") if key in data}
        for label, pulls, total in zip(labels, data["pulls"], data["sums"], strict=True):
            counts = {"arm": label, "reward": total, "pulls": pulls, "late": data.get("late")}
            yield line | counts | {"detail": encode({"batch": name, **drawn})}
    elif row.kind == "published":
        for label, chance in zip(labels, data["probabilities"], strict=True):
            yield line | {"arm": label, "probability": chance, "detail": encode({"policy": data["version"]})}
    else:
        arm, left = data.get("recommendation"), data.get("candidates")
        data |= {} if left is None else {"candidates": [labels[one] for one in left]}
        yield line | {"arm": None if arm is None else labels[arm], "detail": encode(data)}


def _csv(pieces: Iterator[list[Line]]) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS)
    writer.writeheader()
    for lines in pieces:
        writer.writerows(line | _harmless(line) for line in lines)
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()


def _harmless(line: Line) -> Line:
    """The cells of a line with users' text, such that a spreadsheet shows them rather than computes them."""
    arm, detail = line["arm"], line["detail"]
    return {"arm": None if arm is None else no_formula(arm), "detail": detail and _no_formula_in_json(detail)}


@lru_cache(maxsize=1024)
def no_formula(text: str) -> str:
    """Text with an apostrophe before everything that could be the beginning of a formula."""
    return FORMULA.sub(r"\1'", text)


def _no_formula_in_json(text: str) -> str:
    """JSON that means the same; only strings have semicolons."""
    return FORMULA_IN_JSON.sub(lambda found: f"{found[1]}\\u{ord(found[2]):04x}", text)


def _ndjson(pieces: Iterator[list[Line]]) -> Iterator[bytes]:
    for lines in pieces:
        yield "".join(encode(line) + "\n" for line in lines).encode()


def _parquet(pieces: Iterator[list[Line]]) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    types = {"sequence": pa.int64(), "reward": pa.float64(), "late": pa.bool_(), "pulls": pa.int64()}
    types["probability"] = pa.float64()
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    sink = _Sink()
    with parquet.ParquetWriter(sink, schema) as writer:
        for lines in pieces:
            writer.write_table(pa.Table.from_pylist(lines, schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A file that is written once and read in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def taken(self) -> bytes:
        """What was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
