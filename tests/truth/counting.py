"""Findings about what a trial counts as, and in which order."""

from tests.truth.finding import Finding

FINDINGS: list[Finding] = []
