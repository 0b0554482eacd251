"""``make package``: wheel and sdist in dist/, each tried on every Python of this machine, and all extras resolved."""

import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.packaging.smoke import ROOT, build, install, make_environment, pythons, run, try_out


def main() -> None:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    sdist, wheel = build(dist)
    print(f"built {sdist.name} and {wheel.name}")
    with tempfile.TemporaryDirectory(prefix="fairbai-package-") as folder:
        for (major, minor), python in pythons().items():
            for package in (wheel, sdist):
                where = Path(folder) / f"{major}.{minor}-{package.name}"
                print(f"python {major}.{minor}, {package.name}", flush=True)
                fresh = make_environment(where, python)
                install(fresh, package)
                quick = {"NUMBA_DISABLE_JIT": "1"} if package is sdist else {}  # its kernels are those of the wheel
                place = try_out(fresh, FAIRBAI_CACHE_DIR=str(where / "cache"), **quick)
                assert Path(place).is_relative_to(where), place
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in project["optional-dependencies"]:
        asked = f"fairbai[{extra}] @ {wheel.as_uri()}"
        run(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", asked)
        print(f"extra {extra} resolves", flush=True)


if __name__ == "__main__":
    main()
