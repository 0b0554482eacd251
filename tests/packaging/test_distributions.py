"""The wheel and the sdist: what is in them, and that the wheel works where it is installed.

`make package` does more, and takes minutes: it installs both with their dependencies into empty environments on every
Python of the machine, compiles there, and resolves all extras. Here the dependencies are those of this environment.
"""

from __future__ import annotations

import email
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import fairbai as fb
from tests.cli.commands import Capture
from tests.packaging import __main__ as command
from tests.packaging import versions
from tests.packaging.smoke import ROOT, build, install, make_environment, pythons, run, try_out

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    return build(tmp_path_factory.mktemp("dist"), "--no-isolation")


def sources() -> set[str]:
    """The files of the package, seen from src/."""
    found = {path for path in (ROOT / "src" / "fairbai").rglob("*") if path.is_file()}
    return {str(path.relative_to(ROOT / "src")) for path in found if "__pycache__" not in path.parts}


def test_wheel_has_every_file_of_the_package(distributions: tuple[Path, Path]) -> None:
    """Migrations, pages and style sheets too, and nothing else."""
    with zipfile.ZipFile(distributions[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == sources()
    assert {"fairbai/py.typed", "fairbai/service/storage/migrations/env.py", "fairbai/reproduction/page.css"} <= names
    assert {"fairbai/reproduction/data/upworthy.csv", "fairbai/reproduction/data/NOTICE.md"} <= names
    assert distributions[1].stat().st_size < 1_500_000  # text alone is about a million bytes; a picture would show


def test_wheel_says_what_it_is(distributions: tuple[Path, Path]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(distributions[1]) as wheel:
        folder = f"fairbai-{fb.__version__}.dist-info"
        form = email.message_from_bytes(wheel.read(f"{folder}/METADATA"))
        assert "fairbai = fairbai.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()
        for file in project["license-files"]:
            assert wheel.read(f"{folder}/licenses/{file}") == (ROOT / file).read_bytes()
    assert (form["Name"], form["Version"], form["Requires-Python"]) == ("fairbai", fb.__version__, ">=3.11")
    assert form.get_all("Provides-Extra") == sorted(project["optional-dependencies"])
    assert form["License-Expression"] == project["license"] == "MIT AND CC-BY-4.0"
    assert "Typing :: Typed" in form.get_all("Classifier", [])


def test_sdist_has_what_a_build_needs(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {f"src/{name}" for name in sources()} <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= names


def test_installed_wheel_works(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """In an environment of its own, which sees the dependencies of this one; without the JIT, to be quick."""
    python = make_environment(tmp_path / "venv")
    install(python, "--no-deps", "--no-index", distributions[1])
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    place = try_out(python, NUMBA_DISABLE_JIT="1", FAIRBAI_CACHE_DIR=str(tmp_path / "cache"))
    assert Path(place).is_relative_to(packages)
    code = "from fairbai.reproduction.past.archive_data import archive_tests; print(len(archive_tests()))"
    assert run(python, "-c", code).strip() == "2491"


def test_command(
    distributions: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    """`make package`, without what takes minutes: no environments are made, and pip resolves nothing."""
    asked: list[tuple[str | Path, ...]] = []
    monkeypatch.setattr(command, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    monkeypatch.setattr(command, "build", lambda folder: distributions)
    monkeypatch.setattr(command, "pythons", lambda: {})
    monkeypatch.setattr(command, "run", lambda *words: asked.append(words))
    command.main()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(asked) == len(project["optional-dependencies"])
    assert "extra service resolves" in capsys.readouterr().out


def test_bounds_of_the_versions_that_are_tried() -> None:
    """`make versions`: the oldest are those of pyproject.toml, and the tests that it runs are there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert list(versions.oldest(project)) == [versions.name_of(line) for line in project["dependencies"]]
    for name, number in versions.oldest(project).items():
        assert any(line.startswith(f"{name}>={number},<") for line in project["dependencies"])
    assert all((ROOT / "tests" / name).exists() for name in versions.TESTS)


def test_this_python_is_found() -> None:
    assert all(version >= (3, 11) for version in pythons())
    assert pythons()
