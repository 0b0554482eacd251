import pytest
from hypothesis import settings

# The same examples on every run, and no deadline: the first call of a kernel compiles it.
# Look for new examples with `pytest --hypothesis-profile=default`.
settings.register_profile("ci", derandomize=True, print_blob=True, deadline=None)
settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module run on one worker (--dist loadgroup), so that it is made only once."""
    for item in items:
        fixtures = getattr(item, "_fixtureinfo", None)
        shared = fixtures and any(found[-1].scope == "module" for found in fixtures.name2fixturedefs.values())
        if shared and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
