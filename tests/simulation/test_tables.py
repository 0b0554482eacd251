"""Aligned columns of text."""

from __future__ import annotations

from fairbai.simulation.tables import aligned


def test_words_are_on_the_left_and_numbers_on_the_right() -> None:
    text = aligned(["rule", "kind", "trials"], [["a", "long name", "9"], ["longer", "b", "1,000"]], words=2)
    assert text.splitlines() == [
        "rule    kind       trials",
        "-------------------------",
        "a       long name       9",
        "longer  b           1,000",
    ]


def test_last_column_may_be_prose() -> None:
    text = aligned(["arm", "share", ""], [["0", "0.25", ""], ["1", "0.75", "at its floor"]])
    assert text.splitlines() == ["arm  share", "-" * 24, "0     0.25", "1     0.75  at its floor"]


def test_without_a_header() -> None:
    assert aligned(None, [["T*", "8", "trials"], ["T*_p", "12", "with floors"]]).splitlines() == [
        "T*     8  trials",
        "T*_p  12  with floors",
    ]


def test_one_column() -> None:
    assert aligned(["n"], [["1"], ["22"]]) == "n\n--\n1\n22"
