import os
import signal
import zlib
from collections import Counter
from collections.abc import Iterator

os.environ.setdefault("FAIRBAI_JIT", "wait")  # before fairbai is imported: tests compare results, not waiting times
os.environ["FAIRBAI_BENCH_QUICK"] = "1"  # before benchmarks are imported: tests run them, and measure nothing

import pytest
from hypothesis import settings

from fairbai.compiling import waiting
from fairbai.problems.families import Family
from fairbai.problems.rates import Rate
from fairbai.sampling import SamplingRule
from fairbai.stopping import StoppingRule

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in what a shell starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else programs that tests interrupt would not notice

waiting.SILENCE = float("inf")  # what is printed is compared, and must not depend on what was compiled before

# The same examples on every run, and no deadline: the first call of a kernel compiles it.
# Look for new examples with `pytest --hypothesis-profile=default`.
settings.register_profile("ci", derandomize=True, print_blob=True, deadline=None)
settings.load_profile("ci")


# Of a test with parameters, those that `make test` runs; the others are long.
CASES = int(os.environ.get("FAIRBAI_TEST_CASES", "4"))


def mark_further_cases(items: list[pytest.Item]) -> None:
    """By a hash of their names: the same ones on every worker, and not those of the first parameters only."""
    count: Counter[str] = Counter()
    for item in sorted(items, key=lambda item: zlib.crc32(item.nodeid.encode())):
        if not any(any(item.iter_markers(one)) for one in ("system", "long", "every_case")):
            test = item.nodeid.partition("[")[0]
            count[test] += 1
            if count[test] > CASES:
                item.add_marker(pytest.mark.long)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module, or package, run on one worker (--dist loadgroup): it is made once.

    With several workers the slow tests come first, so that no worker is left alone with one of them at the end.
    """
    mark_further_cases(items)
    for item in items:
        fixtures = getattr(item, "_fixtureinfo", None)
        scopes = {found[-1].scope for found in fixtures.name2fixturedefs.values()} if fixtures else set()
        module = item.nodeid.partition("::")[0]
        group = module.rpartition("/")[0] if "package" in scopes else module
        if scopes & {"package", "module"} and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not any(item.iter_markers("slow_without_jit")))


@pytest.fixture(autouse=True)
def seed_of_tests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment that names no seed has 0, so that every run of a test is the same."""
    if request.path.parent.name != "truth":
        monkeypatch.setattr("fairbai.identifier.identifier.drawn_seed", lambda: 0)


@pytest.fixture(autouse=True)
def only_own_kinds(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test knows the families, rates and rules of the library and of its module, and not those of other tests."""
    registers = [base._known for base in (Family, Rate, SamplingRule, StoppingRule)]
    before = [dict(known) for known in registers]
    own = request.module.__name__
    for known, all_kinds in zip(registers, before, strict=True):
        known.clear()
        known.update({name: kind for name, kind in all_kinds.items() if kind.__module__.startswith(("fairbai.", own))})
    yield
    for known, all_kinds in zip(registers, before, strict=True):
        known.clear()
        known.update(all_kinds)
