"""The pages are true: their code runs, their commands print what is shown, and their links lead somewhere.

- Every ```python block runs; the blocks of a page share one namespace, in order. A block with `>>>` prompts is a
  doctest. The output of another one is compared with the ```text block that follows it, if one does.
- Every line `$ fairbai ...` of a ```console or ```bash block runs, and what follows it there is compared.
- A ```toml block that begins with the comment `# name.toml` is the file of that name for the commands of its page.
- A line `$ python examples/...` of a ```console block runs before anything else of its page: it writes a file, too.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import logging
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairbai.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
PAGES += [*sorted((ROOT / "examples").glob("*/*.md")), *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")

pytestmark = pytest.mark.slow_without_jit  # many pages simulate
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
LONG = {DOCS / "errata.md", DOCS / "reproduction.md"}  # they simulate a part of the paper's evaluation
RUN = [pytest.param(page, marks=pytest.mark.system) if page in LONG else page for page in PAGES]
run_pages = pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.fixture(autouse=True)
def same_log_afterwards() -> Iterator[None]:
    """A page may set how much is logged, which other tests read."""
    log = logging.getLogger("fairbai")
    level = log.level
    yield
    log.setLevel(level)


@dataclass
class Block:
    """A fenced block: its language, its text, the line it starts at, and the ```text block right after it."""

    language: str
    text: str
    line: int
    output: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    result = []
    for number, match in enumerate(found):
        output = None
        for following in found[number + 1 : number + 2]:
            if following[1] == "text" and not text[match.end() : following.start()].strip():
                output = following[2]
        result.append(Block(match[1], match[2], text.count("\n", 0, match.end(1)) + 1, output))
    return result


def lines(text: str) -> list[str]:
    """The lines without trailing spaces and surrounding empty lines."""
    return [line.rstrip() for line in text.strip("\n").rstrip().splitlines()]


def assert_same(printed: str, shown: str, where: str) -> None:
    """The same text; numbers may differ by rounding, and certified gaps are practically zero."""
    found, expected = lines(printed), lines(shown)
    words = [[NUMBER.sub("0", line).split() for line in text] for text in (found, expected)]
    assert words[0] == words[1], where
    for one, other in zip(found, expected, strict=True):
        numbers = [[float(number) for number in NUMBER.findall(line)] for line in (one, other)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-11), f"{where}: {one!r}, shown as {other!r}"


def commands(block: Block) -> Iterator[tuple[list[str], str]]:
    """The arguments of every `fairbai` line of a block, and the output that the page shows for it."""
    for part in re.split(r"^(?=\$ |fairbai )", block.text, flags=re.MULTILINE):
        command, _, output = part.replace("\\\n", " ").removeprefix("$ ").partition("\n")
        if command.startswith("fairbai "):
            yield shlex.split(command)[1:], output


def run_command(arguments: list[str]) -> tuple[str, int]:
    """What a command prints, errors too, and its exit code."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse: --help, or options that do not exist
            code = int(stop.code or 0)
    return printed.getvalue(), code


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> str:
    """What a block prints; a doctest is compared at once."""
    if ">>>" in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, namespace, page.name, str(page), block.line)
        report = io.StringIO()
        failed = doctest.DocTestRunner(verbose=False).run(test, out=report.write, clear_globs=False).failed
        assert not failed, report.getvalue()
        namespace.update(test.globs)
        return ""
    printed = io.StringIO()
    code = compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


@pytest.fixture
def beside_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    """A working directory with the files that a page shows."""
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language == "toml" and (name := re.match(r"# (\S+\.toml)\n", block.text)):
            (tmp_path / name[1]).write_text(block.text, encoding="utf-8")
        for line in re.findall(r"^\$ python (examples/.*)$", block.text, re.MULTILINE):
            script, *arguments = shlex.split(line)
            subprocess.run([sys.executable, ROOT / script, *arguments], check=True, capture_output=True)


@run_pages
@pytest.mark.usefixtures("beside_files")
def test_python_blocks(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page):
        if block.language == "python":
            printed = run_python(block, page, namespace)
            if block.output is not None:
                assert_same(printed, block.output, f"{page.name}, line {block.line}")


@run_pages
@pytest.mark.usefixtures("beside_files")
def test_commands(page: Path) -> None:
    for block in blocks(page):
        if block.language in ("console", "bash"):
            for arguments, expected in commands(block):
                printed, code = run_command(arguments)
                if expected.strip():
                    assert_same(printed, expected, f"{page.name}, fairbai {shlex.join(arguments)}")
                else:
                    assert code == 0, printed


NEEDS = {
    "report": r"import pandas|to_pandas|\boutput=\"|\.save_html|fairbai\.reproduction|fairbai (?:simulate|reproduce) ",
    "wireless": r"fairbai\.environments|import gymnasium",
    "service": r"fairbai (?:serve|keys|projects|verify|backup|restore)\b|fairbai\.client|localhost:8000",
}


@pytest.mark.parametrize("extra", NEEDS)
def test_pages_whose_code_needs_an_extra_say_so_at_their_top(extra: str) -> None:
    for page in DOCS.rglob("*.md"):
        code = [block.text for block in blocks(page) if block.language in ("python", "bash", "sh")]
        if any(re.search(NEEDS[extra], text) for text in code):
            top = page.read_text(encoding="utf-8").partition("```")[0]
            assert f"`{extra}`" in top, f"{page.name} needs the extra {extra}"


@pytest.mark.every_case
@pytest.mark.parametrize(
    "package", sorted(path.parent.name for path in (ROOT / "src" / "fairbai").glob("*/__init__.py"))
)
def test_examples_of_docstrings(package: str) -> None:
    """Those with prompts; of a quick start, which needs a server, other tests run the calls."""
    for path in sorted((ROOT / "src" / "fairbai" / package).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        if "migrations" not in name:
            report = doctest.testmod(importlib.import_module(name))
            assert not report.failed, name


@pages
def test_links(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            name, _, heading = target.partition("#")
            file = page.parent / name if name else page
            assert file.exists(), f"{page.name} links to {target}"
            if heading:
                assert heading in headings(file), f"{page.name} links to {target}"


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub names them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("folder", [DOCS, *(path for path in sorted(DOCS.iterdir()) if (path / "index.md").exists())])
def test_every_page_is_on_the_map_of_its_folder(folder: Path) -> None:
    linked = set(LINK.findall((folder / "index.md").read_text(encoding="utf-8")))
    assert {page.name for page in folder.glob("*.md")} - {"index.md"} <= linked
