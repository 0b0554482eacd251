"""`make screenshots`, into a folder of the test; the pictures in the documentation stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import screenshots, shop_picture

pytestmark = [pytest.mark.system, pytest.mark.slow_without_jit]


def test_screenshots(tmp_path: Path) -> None:
    screenshots.main(tmp_path)
    kept = Path(__file__).parents[2] / "docs" / "images" / "dashboard"
    assert {one.name for one in tmp_path.iterdir()} == {one.name for one in kept.iterdir()}


def test_shop_picture(tmp_path: Path) -> None:
    shop_picture.main(tmp_path)
    assert list(tmp_path.iterdir())
