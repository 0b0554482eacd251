import pytest

from tests.truth.finding import Finding
from tests.truth.findings import FINDINGS


@pytest.mark.slow_without_jit
@pytest.mark.every_case
@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.number)
def test_the_claim_withstands_the_attack(finding: Finding) -> None:
    figure = finding.measure()
    assert figure.holds, f"{finding.claim}: {figure.text}"
