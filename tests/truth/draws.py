"""Findings about draws that two experiments share."""

from tests.truth.finding import Finding

FINDINGS: list[Finding] = []
