"""Findings about plans."""

from tests.truth.finding import Finding

FINDINGS: list[Finding] = []
