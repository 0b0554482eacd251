"""Every command that the pages and the Makefile show works: it is run here or by another test, or it is listed below.

- `fairbai ...` in ```console and ```bash blocks: `tests/test_docs.py` runs it. In other blocks and in sentences: the
  parser must know its command and flags, and a test must run the command.
- `curl ...`: it is sent here, to a service of this process.
- `make ...`, `python ...` and `pip install ...`: what they name must exist, and something must run it.
- Everything else must be listed.

A page that shows a command which nobody runs fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbai.cli.parser import make_parser
from tests.service.running import Local, address, running
from tests.test_docs import PAGES, ROOT, blocks

RUN_BY = {
    # targets of the Makefile
    "install": "Makefile: test: $(STAMP)",
    "demo": "tests/identifier/test_ab_test.py: ab_test.py",
    "test": ".ci/run: make test",
    "system": ".ci/run: make system",
    "long": ".ci/run: make long",
    "coverage": ".ci/run: make coverage",
    "versions": ".ci/run: make versions",
    "lint": "Makefile: --jobs 2 lint kernels",
    "kernels": "Makefile: --jobs 2 lint kernels",
    "faults": "tests/faults/test_runs.py: command.main()",
    "docs": "tests/test_site.py: mkdocs",
    "figures": "tests/test_site.py: figures.py",
    "bench": "tests/benchmarks/test_suites.py: command.SUITES",
    "screenshots": "tests/browser/test_pictures.py: screenshots.main",
    "package": "tests/packaging/test_distributions.py: command.main()",
    "clean": "tests/test_commands.py: make -n",
    # modules and scripts
    "benchmarks": "tests/benchmarks/test_suites.py: command.main()",
    "benchmarks/adaptive_design.py": "tests/benchmarks/test_suites.py: adaptive_design.main",
    "docs/figures.py": "tests/test_site.py: figures.py",
    "examples.llm_gateway": "tests/service/test_llm_gateway.py: examples.llm_gateway",
    "examples.web_shop": "tests/browser/test_shop.py: web_shop",
    "examples.wireless_slots": "tests/service/test_example.py: wireless_slots",
    "examples/ab_test.py": "tests/identifier/test_ab_test.py: ab_test.py",
    "examples/http_ab_test.py": "tests/service/test_example.py: http_ab_test.py",
    "examples/mismatched_log.py": "tests/test_docs.py: python (examples/",
    "fairbai": "tests/cli/test_doctor.py: fairbai",
    "mkdocs": "tests/test_site.py: mkdocs",
    "pip": "Makefile: pip install",
    "pytest": "Makefile: -m pytest",
    "tests.browser.screenshots": "tests/browser/test_pictures.py: screenshots.main",
    "tests.browser.shop_picture": "tests/browser/test_pictures.py: shop_picture.main",
    "tests.compile": "Makefile: tests.compile",
    "tests.faults": "tests/faults/test_runs.py: command.main()",
    "tests.packaging": "tests/packaging/test_distributions.py: command.main()",
    "tests.packaging.versions": "Makefile: tests.packaging.versions",
    "tests.simulation.test_deadlines": "tests/simulation/test_deadlines.py: def test_main",
    "tests.truth": "tests/truth/test_truth.py: FINDINGS",
    "tests.truth.twelve_plans": "tests/truth/test_twelve_plans.py: compared(case)",
    "tests.stopping.test_price_of_variances": "tests/stopping/test_price_of_variances.py: def test_main",
    "venv": "Makefile: -m venv",
    # commands of fairbai
    "fairbai analyze": "tests/cli/test_logs.py: analyze",
    "fairbai backup": "tests/service/test_backup.py: backup",
    "fairbai compare": "tests/cli/test_studies.py: compare",
    "fairbai completion": "tests/cli/test_completion.py: completion",
    "fairbai doctor": "tests/cli/test_doctor.py: doctor",
    "fairbai keys": "tests/cli/test_service.py: keys",
    "fairbai plan": "tests/cli/test_instances.py: plan",
    "fairbai projects": "tests/cli/test_service.py: projects",
    "fairbai reproduce": "tests/reproduction/test_reproduce.py: reproduce",
    "fairbai restore": "tests/service/test_backup.py: restore",
    "fairbai serve": "tests/service/server.py: serve",
    "fairbai simulate": "tests/cli/test_studies.py: simulate",
    "fairbai solve": "tests/cli/test_instances.py: solve",
    "fairbai verify": "tests/service/test_served.py: verify",
    "fairbai warm": "tests/cli/test_warm.py: warm",
}
"""What runs a command: a file, and words in it."""

OTHERS = {
    "createdb": "PostgreSQL's, for its administrators; tests/service/postgresql.py makes its databases with SQL",
    "createuser": "PostgreSQL's",
    "docker": "needs a daemon; tests/packaging/test_containers.py checks Dockerfile and compose.yaml without one",
    "export": "of the shell",
    "git": "for developers",
    "jupyter": "tests/test_notebooks.py runs the notebooks",
    "openssl": "makes a secret; tests write theirs",
    "pg_dump": "PostgreSQL's",
    "printf": "of the shell",
    "sqlite3": "SQLite's",
}
"""Programs of others, and where what they are needed for is tried."""

WORDS = {"fairbai", "make", "python", "pip", "pytest", "curl", *OTHERS} - {"export", "git"}
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^([a-z]+):.*## ", re.MULTILINE)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def split(text: str) -> list[str]:
    """The words of a command, without variables that it sets and without the path of its program."""
    words = shlex.split(text, comments=True)
    while words and re.match(r"\w+=", words[0]):
        words.pop(0)
    return [words[0].removeprefix(".venv/bin/").removeprefix("$(BIN)/"), *words[1:]] if words else []


def shown_in_blocks(page: Path, *languages: str) -> Iterator[list[str]]:
    """The commands of blocks; one ends where a line ends outside of quotes."""
    for block in blocks(page):
        if block.language in languages:
            text = block.text.replace("\\\n", " ")
            if block.language == "console":
                text = "\n".join(re.findall(r"^\$ (.*)$", text, re.MULTILINE))
            begun = ""
            for line in text.splitlines():
                begun += line + "\n"
                try:
                    words = split(begun)
                except ValueError:  # within quotes
                    continue
                begun = ""
                if words:
                    yield words
            assert not begun, f"{page.name}, line {block.line}"


def shown_in_sentences(page: Path) -> Iterator[list[str]]:
    """The commands between backticks, which may be a part of one, such as `fairbai serve --key-rate`."""
    for span in SPAN.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        try:
            words = split(span)
        except ValueError:  # a formula, or a part of a sentence
            continue
        if len(words) > 1 and words[0] in WORDS:
            yield words


def known_to_the_parser(words: list[str]) -> bool:
    """Whether a (part of a) command of fairbai has a known command and known flags."""
    parser = make_parser()
    for word in words[1:]:
        commands = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if commands and word in commands[0].choices:
            parser = commands[0].choices[word]
        elif word.startswith("--") and word.partition("=")[0] not in parser._option_string_actions:
            return False
        elif commands and not word.startswith("-"):
            return word in ("COMMAND", "...")
    return True


def assert_known(words: list[str], where: str) -> None:
    """The command exists, and something runs it."""
    program, rest = words[0], words[1:]
    if program == "fairbai":
        assert known_to_the_parser(words), where
        if not rest[0].startswith("-") and rest[0] != "COMMAND":
            assert f"fairbai {rest[0]}" in RUN_BY, where
    elif program == "make":
        for target in (word for word in rest if "=" not in word and not word.startswith("-")):
            assert target in TARGET.findall(MAKEFILE), where
            assert target in RUN_BY, where
    elif program == "python":
        name = rest[1] if rest[0] == "-m" else rest[0]
        assert name in RUN_BY, where
        assert (ROOT / name).exists() if name.endswith(".py") else importlib.util.find_spec(name), where
    elif program == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for extras in re.findall(r"\.\[([\w,]+)\]", " ".join(rest)):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), where
    elif program == "pytest":
        for file in (word for word in rest if word.startswith("tests/")):
            assert (ROOT / file).exists(), where
    else:
        assert program in ("curl", *OTHERS), where


@pages
def test_every_command_is_known_and_run(page: Path) -> None:
    for words in shown_in_blocks(page, "sh", "bash", "console", "shell"):
        assert_known(words, f"{page.name}: {shlex.join(words)}")
        if words[0] == "fairbai":
            assert_complete(words)
    for words in shown_in_sentences(page):
        assert_known(words, f"{page.name}: {shlex.join(words)}")


def assert_complete(words: list[str]) -> None:
    """The parser takes it, or it is one that shows an error."""
    end = next((number for number, word in enumerate(words) if word in ("|", ">", "&&")), len(words))
    if words != ["fairbai", "compare", "nowhere"] and "--help" not in words:
        make_parser().parse_args(words[1:end])


@pytest.mark.parametrize("name", RUN_BY)
def test_what_runs_a_command_is_there(name: str) -> None:
    file, _, words = RUN_BY[name].partition(": ")
    assert words in (ROOT / file).read_text(encoding="utf-8")


def test_every_target_is_listed_and_every_recipe_can_be_read() -> None:
    """What make would run exists; `make -n` prints it, and runs nothing."""
    targets = TARGET.findall(MAKEFILE)
    assert set(targets) <= {"help", *RUN_BY}
    done = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for recipe in re.findall(r"^\t@?(?:\w+=\S+ )*\$\(BIN\)/(.*)$", MAKEFILE, re.MULTILINE):
        words = split(recipe.partition("#")[0])
        if words[0] in ("python", "fairbai"):
            assert_known(words, recipe)


# --- curl -----------------------------------------------------------------------------------------------------


GAUSSIAN = {"kind": "gaussian", "variance": 400.0}
FORM = {"name": "shown", "arms": ["green", "blue", "red"], "delta": 0.05, "family": GAUSSIAN, "floors": 0.1}


class Sender:
    """Sends what pages show to a service; $ID becomes an experiment in which it makes sense."""

    def __init__(self, client: Local) -> None:
        self.client = client

    def create(self, **more: Any) -> str:
        """An experiment of its own for a command, so that none depends on what another did."""
        made = self.client.post("/v1/experiments", json={**FORM, **more})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def send(self, words: list[str]) -> tuple[int, str]:
        """The status and the text of the answer to a command."""
        url, method, headers, body = parsed(words)
        path = url.removeprefix("localhost:8000")
        form = json.loads(body) if body else None
        if "$ID" in path:
            path = path.replace("$ID", self._prepared(path, form or {}))
        own = {name: value for name, value in headers.items() if "$KEY" not in value}  # the client has a key
        found = self.client.request(method, path, headers=own, **({"json": form} if body else {}))
        return found.status_code, found.text

    def _prepared(self, path: str, form: dict[str, Any]) -> str:
        """An experiment in which the command makes sense; tickets in the form are replaced by some of its own."""
        experiment = self.create(**({"sampling": "virtual_queues"} if "available" in form else {}))
        at = f"/v1/experiments/{experiment}"
        tickets = [one["ticket"] for one in self.client.post(f"{at}/ask", json={"n": 4}).json()["tickets"]]
        for one, ticket in zip(form.get("rewards", ()), tickets, strict=False):
            one["ticket"] = ticket
        if "tickets" in form:  # those of rewards that are to be voided
            form["tickets"] = tickets[: len(form["tickets"])]
            told = [{"ticket": ticket, "reward": 1.0} for ticket in tickets]
            self.client.post(f"{at}/tell", json={"rewards": told})
        if "unit" in form and not path.endswith("/ask"):
            experiment = self.create(report_after=86400, silence=0)
            self.client.post(f"/v1/experiments/{experiment}/ask", json={"unit": form["unit"]})
        if path.endswith("/batches"):
            experiment = self.create()
            policy = self.client.get(f"/v1/experiments/{experiment}/policy?trials={sum(form['pulls'].values())}").json()
            if "policy" in form:
                form["policy"] = policy["version"]
        if path.endswith("/resume"):
            self.client.post(f"{at}/pause")
        return experiment


def parsed(words: list[str]) -> tuple[str, str, dict[str, str], str]:
    """The URL, the method, the headers and the body of a command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("-X", default="")
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-d", default="")
    parser.add_argument("-o")
    parser.add_argument("-i", action="store_true")
    parser.add_argument("-N", action="store_true")
    found = parser.parse_args(words[1:])
    return found.url, found.X or ("POST" if found.d else "GET"), dict(one.split(": ", 1) for one in found.H), found.d


CURLS = [page for page in PAGES if any(words[0] == "curl" for words in shown_in_blocks(page, "sh", "bash"))]


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("page", CURLS, ids=lambda page: str(page.relative_to(ROOT)))
def test_requests_of_the_page_are_answered(page: Path, tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        for words in shown_in_blocks(page, "sh", "bash"):
            if words[0] == "curl" and "-N" not in words:  # a stream does not end: tests/service/test_streams.py
                status, text = Sender(client).send(words)
                assert 200 <= status < 300, f"{shlex.join(words)}: {status} {text}"
