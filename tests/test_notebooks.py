"""The notebooks of examples/ run from their first cell to the last, and are kept without outputs."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))
notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


@notebooks
@pytest.mark.system
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Jupyter; the kernel has its own
        from nbclient import NotebookClient

        client = NotebookClient(
            nbformat.read(path, as_version=4), timeout=900, resources={"metadata": {"path": tmp_path}}
        )
        asyncio.run(client.async_execute())


@notebooks
def test_it_is_kept_without_outputs(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        assert cell.cell_type == "markdown" or not (cell.outputs or cell.execution_count), "clear all outputs"
