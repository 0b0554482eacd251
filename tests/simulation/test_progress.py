"""The progress bar: how far, how fast, how long still; or nothing at all."""

from __future__ import annotations

import sys
from unittest.mock import Mock

import pytest

from fairbai.simulation.progress import progress_bar

Capture = pytest.CaptureFixture[str]


def test_bar_shows_count_rate_and_time_left(capsys: Capture) -> None:
    with progress_bar(10, shown=True) as bar:
        bar.update(4)
        bar.refresh()
        bar.update(6)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "4/10" in printed.err
    assert "10/10" in printed.err
    assert "runs/s" in printed.err


def test_bar_goes_on_where_it_stopped(capsys: Capture) -> None:
    with progress_bar(10, shown=True, done=7) as bar:
        assert bar.n == 7
        bar.update(1)
    assert "8/10" in capsys.readouterr().err


def test_nothing_is_shown_unless_asked_for(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)  # nor is anything needed
    with progress_bar(10, shown=False) as bar:
        bar.update(3)
    assert capsys.readouterr() == ("", "")


def test_people_who_watch_see_a_bar(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.simulation.progress.DELAY", 0.0)
    with progress_bar(10, shown=None) as bar:
        bar.update(3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar(10, shown=None) as bar:
        bar.update(3)
        bar.refresh()
    assert "3/10" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)  # without it they see nothing, and nothing fails
    with progress_bar(10, shown=None) as bar:
        bar.update(3)


def test_bar_needs_the_report_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"this needs tqdm: pip install '\.\[report\]'"):
        progress_bar(10, shown=True)


def test_rate_leaves_out_the_time_of_the_compiler(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten runs in a second, after an hour of compiling: ninety seconds to go, not ten hours."""
    clock = Mock(seconds=0.0)
    monkeypatch.setattr("fairbai.simulation.progress.waited", clock)
    with progress_bar(1000, shown=True) as bar:
        start = bar.start_t
        monkeypatch.setattr(bar, "_time", lambda: start + 3601.0)
        clock.seconds = 3600.0
        bar.update(10)
        assert bar.format_dict["elapsed"] == pytest.approx(1.0)
        assert bar.format_dict["rate"] == pytest.approx(10.0)
    assert "01:39" in capsys.readouterr().err
