"""Where a log comes from: a CSV or Parquet file, a data frame, or columns; read in chunks, and errors say where."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairbai.simulation.extras import needs

CHUNK = 50_000  # rows
SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
PARQUET = (".parquet", ".pq")

Columns = list[Any]


@dataclass(frozen=True)
class Table:
    """The columns of a log that were asked for, chunk by chunk.

    Attributes:
        name: What errors call it.
        chunks: Parts of the columns, in the order in which they were asked for; each is a list or an array.
        place: Where a row is, in words, from its number, which begins at 0.
        notes: What was noticed about the file.
        decimal_comma: Whether 1,5 may stand for 1.5.
    """

    name: str
    chunks: Iterator[Columns]
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()
    decimal_comma: bool = False


def opened(data: Any, wanted: Mapping[str, str]) -> Table:
    """The table that ``data`` is; ``wanted`` are the names of the columns by the argument that named them."""
    if isinstance(data, (str, Path)):
        path = Path(data)
        if path.is_dir():
            raise ValueError(f"{path} is a folder: give a CSV or Parquet file")
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        return _parquet(path, wanted) if path.suffix.lower() in PARQUET else _csv(path, wanted)
    if isinstance(data, Mapping):
        return _columns("the dictionary", [str(name) for name in data], data, wanted)
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return _columns("the data frame", [str(name) for name in data.columns], data, wanted)
    raise ValueError(
        f"data must be the path of a CSV or Parquet file, a data frame, or a dictionary of columns, got {type(data)!r}"
    )


def check_names(name: str, existing: Sequence[str], wanted: Mapping[str, str]) -> None:
    """Refuse columns that do not exist, and show those that do."""
    for argument, column in wanted.items():
        if column not in existing:
            there = ", ".join(map(repr, existing)) or "none"
            raise ValueError(f"{name} has no column {column!r} for {argument}: its columns are {there}")
        if existing.count(column) > 1:
            raise ValueError(f"{name} has {existing.count(column)} columns {column!r} for {argument}: rename them")
    if len(set(wanted.values())) < len(wanted):
        twice = next(column for column in wanted.values() if list(wanted.values()).count(column) > 1)
        arguments = " and ".join(argument for argument, column in wanted.items() if column == twice)
        raise ValueError(f"{arguments} must be different columns, got {twice!r} for both")


# --- in memory --------------------------------------------------------------------------------------------------


def _columns(name: str, existing: Sequence[str], data: Any, wanted: Mapping[str, str]) -> Table:
    check_names(name, existing, wanted)
    columns = [_as_array(data[column]) for column in wanted.values()]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        found = ", ".join(f"{length} in {column!r}" for length, column in zip(lengths, wanted.values(), strict=True))
        raise ValueError(f"{name} must have as many rows in every column, got {found}")
    return Table(name, iter([columns] if lengths[0] else []), lambda row: f"{name}, row {row}")


def _as_array(column: Any) -> Any:
    """A column as a list or an array; times with a zone become those of UTC."""
    if isinstance(column, list | tuple):
        return list(column)  # an array would turn a number between texts into text
    zoned = str(getattr(column, "dtype", "")).startswith("datetime64[") and hasattr(column, "to_numpy")
    return column.to_numpy("datetime64[ns]") if zoned else np.asarray(column)


# --- Parquet ----------------------------------------------------------------------------------------------------


def _parquet(path: Path, wanted: Mapping[str, str]) -> Table:
    parquet = needs("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
    except needs("pyarrow").ArrowInvalid:
        raise ValueError(f"{path} is not a Parquet file") from None
    check_names(str(path), list(file.schema_arrow.names), wanted)
    columns = list(wanted.values())

    def chunks() -> Iterator[Columns]:
        for batch in file.iter_batches(CHUNK, columns=list(dict.fromkeys(columns))):
            yield [batch.column(column).to_numpy(zero_copy_only=False) for column in columns]

    return Table(str(path), chunks(), lambda row: f"{path}, row {row + 1}")


# --- CSV --------------------------------------------------------------------------------------------------------


def _csv(path: Path, wanted: Mapping[str, str]) -> Table:
    with path.open("rb") as file:
        encoding = "utf-16" if file.read(2) in UTF_16 else "utf-8-sig"
    separator, header = _header(path, encoding, wanted)
    check_names(str(path), header, wanted)
    where, width = [header.index(column) for column in wanted.values()], len(header)

    def rows() -> Iterator[tuple[int, list[str]]]:
        with path.open(encoding=encoding, newline="") as lines:
            reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
            next(row for row in reader if row)
            for row in reader:
                if row:
                    yield reader.line_num, row

    def line(number: int) -> str:
        """Found by reading again, so that rows need not remember their line."""
        found = next(islice(rows(), number, None), None)
        return str(path) if found is None else f"{path}, line {found[0]}"

    def chunks() -> Iterator[Columns]:
        start, found = 0, rows()
        while chunk := _chunk(path, found):
            for row, fields in enumerate(chunk):
                if len(fields) != width:
                    raise ValueError(f"{line(start + row)} must have {width} fields, got {len(fields)}")
            yield [[fields[column] for fields in chunk] for column in where]
            start += len(chunk)

    notes = () if separator == "," else (f"Columns of {path.name} are separated by {NAMES[separator]}.",)
    return Table(str(path), chunks(), line, notes, decimal_comma=separator == ";")


def _chunk(path: Path, rows: Iterator[tuple[int, list[str]]]) -> list[list[str]]:
    """The next rows."""
    try:
        return [fields for _, fields in islice(rows, CHUNK)]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text in UTF-8, got the byte {error.object[error.start]:#04x} in it") from None
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}") from None


def _header(path: Path, encoding: str, wanted: Mapping[str, str]) -> tuple[str, list[str]]:
    """The separator and the names of the columns: the separator that finds those wanted, else the most names."""
    try:
        with path.open(encoding=encoding, newline="") as lines:
            first = next((line for line in lines if line.strip()), None)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text in UTF-8, got the byte {error.object[error.start]:#04x} in it") from None
    if first is None:
        raise ValueError(f"{path} is empty: its first line must name the columns")
    headers = {
        separator: [name.strip() for name in next(csv.reader([first], delimiter=separator, skipinitialspace=True))]
        for separator in SEPARATORS
    }
    fits = [separator for separator, names in headers.items() if set(wanted.values()) <= set(names)]
    chosen = fits[0] if fits else max(SEPARATORS, key=lambda separator: len(headers[separator]))
    return chosen, headers[chosen]
