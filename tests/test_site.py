"""The documentation site: it builds without a warning, needs no other host, and its figures come from our code."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ELSEWHERE = re.compile(r"^\s*(https?:)?//")
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
LINKED = {"stylesheet", "preconnect", "preload", "prefetch", "dns-prefetch", "icon", "modulepreload"}


class Loads(HTMLParser):
    """What a browser fetches for a page without being asked."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and LINKED & set(given.get("rel", "").split()):
            self.found.append(given.get("href", ""))
        elif tag in LOADED:
            self.found.append(given.get(LOADED[tag], ""))


def loads(page: Path) -> Iterator[str]:
    """Scripts, styles, fonts and images of a page."""
    parser = Loads()
    parser.feed(page.read_text(encoding="utf-8"))
    yield from parser.found


@pytest.mark.system
def test_the_site_builds_and_is_whole(tmp_path: Path) -> None:
    """One test, because building takes longer than all that is checked."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert_no_page_needs_another_host(tmp_path)
    assert_formulas_are_mathml(tmp_path)
    assert_search_works_from_disk(tmp_path)
    assert_the_reference_has_the_public_names(tmp_path)


def assert_no_page_needs_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        for address in loads(page):
            assert not ELSEWHERE.match(address), f"{page.relative_to(site)} loads {address}"
    for style in site.rglob("*.css"):
        for address in re.findall(r"url\(([^)]*)\)", style.read_text(encoding="utf-8")):
            assert not ELSEWHERE.match(address.strip("'\"")), f"{style.relative_to(site)} loads {address}"


def assert_formulas_are_mathml(site: Path) -> None:
    """And nothing of their source is left over, as it would be where the converter does not know a command."""
    count = 0
    for page in site.rglob("*.html"):
        for formula in re.findall(r"<math.*?</math>", page.read_text(encoding="utf-8"), re.DOTALL):
            count += 1
            text = re.sub(r"<[^>]*>", "", formula)
            assert "\\" not in text, f"{page.relative_to(site)} shows {text}"
    assert count > 500  # displayed and inline


def assert_search_works_from_disk(site: Path) -> None:
    """The index is a script, and every page loads the stand-in for Web Workers, which browsers refuse there."""
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    for page in site.rglob("*.html"):
        assert any(address.endswith("iframe-worker.js") for address in loads(page)), page.relative_to(site)


def assert_the_reference_has_the_public_names(site: Path) -> None:
    import fairbai

    text = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    modules = {"drifts", "environments", "laws", "rates", "sampling", "simulation", "stopping"}
    for name in set(fairbai.__all__) - modules:
        assert f'id="fairbai.{name}"' in text, name
    for module in sorted(modules):
        for name in getattr(fairbai, module).__all__:
            assert f'id="fairbai.{module}.{name}"' in text or f'id="fairbai.{name}"' in text, f"{module}.{name}"
    for name in dir(fairbai.Identifier):  # the page lists them, in an order of its own
        assert name.startswith("_") or f'id="fairbai.Identifier.{name}"' in text, name


def test_the_drawn_layers_are_those_of_the_contract() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contract = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]
    layers = [set(layer.split(" | ")) for layer in contract["layers"] if layer != "__main__"]
    spec = importlib.util.spec_from_file_location("drawings", ROOT / "docs" / "drawings.py")
    assert spec is not None
    assert spec.loader is not None
    drawings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawings)
    assert [{name for name, _ in layer} for layer in drawings.LAYERS] == layers


@pytest.mark.system
def test_the_figures_are_those_of_our_code(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "docs" / "figures.py"), "--output", str(tmp_path), "--runs", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (ROOT / "docs" / "images").glob("*.png")}
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    for name in drawn:
        assert f"images/{name})" in pages, f"no page shows {name}"
