"""The pages: assembled from one layout, sent with an ETag."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairbai.service.http.pages import layout
from tests.service.running import address, running

CURRENT = re.compile(r'<a href="/([a-z]+)" aria-current="page">')


@pytest.mark.parametrize("name", layout.TITLES)
def test_every_page_is_whole(name: str) -> None:
    html = layout.assemble(name)
    assert html.startswith("<!doctype html>")
    for tag in ("<head>", "<title>", "<body>", "<main ", "<h1"):
        assert html.count(tag) == 1, tag
    assert "$" not in html
    assert "style=" not in html
    assert re.findall("<script[^>]*>(.*?)</script>", html) == [""]  # nothing inline
    assert len(set(re.findall(' id="([^"]+)"', html))) == html.count(' id="')


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("experiments.html", ["experiments"]),
        ("audit.html", ["experiments"]),
        ("plan.html", ["plan"]),
        ("docs.html", ["docs"]),
        ("not-found.html", []),
        ("sign-in.html", []),
    ],
)
def test_the_navigation_marks_the_section(name: str, section: list[str]) -> None:
    html = layout.assemble(name)
    assert CURRENT.findall(html) == section
    assert ("<nav" in html) == (name != "sign-in.html")


def test_pages_are_sent_once(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        first = client.get("/plan")
        assert (first.status_code, first.headers["cache-control"]) == (200, "no-cache")
        again = client.get("/plan", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
