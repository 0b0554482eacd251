"""Findings about pages, messages and names."""

from tests.truth.finding import Finding

FINDINGS: list[Finding] = []
