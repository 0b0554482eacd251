"""Findings about analyses of logs."""

from tests.truth.finding import Finding

FINDINGS: list[Finding] = []
