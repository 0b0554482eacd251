"""Findings about statements about errors, and rewards that the declared family does not fit."""

from tests.truth.finding import Finding

FINDINGS: list[Finding] = []
