"""Eight client processes at once, on each database: exact counts, no ticket twice, floors that hold at all times."""

import pytest

from tests.service.conftest import Start
from tests.service.load import check_exact, load

CASES = [
    pytest.param("sqlite", 1, marks=pytest.mark.system),
    pytest.param("postgresql", 1, marks=pytest.mark.system),
    pytest.param("postgresql", 2, marks=pytest.mark.system),
]


@pytest.mark.parametrize(("database", "workers"), CASES)
def test_eight_clients(start: Start, request: pytest.FixtureRequest, database: str, workers: int) -> None:
    server = start(request.getfixturevalue(database), workers=workers)
    experiment = server.create()
    with load(server, experiment, pairs=60) as clients:
        acknowledged = clients.finish()
    assert len(acknowledged.asked) > 8 * 60
    check_exact(server, experiment, acknowledged)
    server.verify()
