"""Rules that earn while they learn, over HTTP: by their short names, and as the log replays them."""

from __future__ import annotations

from pathlib import Path

from fairbai.kernels.sampling.rules import earns
from tests.cases import SAMPLING_RULES
from tests.service.running import FORM, address, create, play, running
from tests.service.test_log import differences

KINDS = [rule.kind for rule in SAMPLING_RULES if earns(rule.code)]


def test_every_rule_by_its_name(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        for kind in KINDS:
            at = create(client, sampling=kind)
            play(client, at, 12)
            assert client.get(f"{at}/audit").status_code == 200
    assert differences(tmp_path) == [[]] * len(KINDS)


def test_limits_that_a_rule_would_not_keep_are_refused(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        form = {**FORM, "sampling": "fair_ucb", "floors": {"kind": "bounded", "floor": 0.1, "ceiling": 0.6}}
        response = client.post("/v1/experiments", json=form)
        assert response.status_code == 422
        assert "fair_ucb keeps floors, but neither ceilings nor groups" in response.text
