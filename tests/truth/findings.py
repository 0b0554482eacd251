"""All findings, in the order of the review."""

from tests.truth.finding import Finding

FINDINGS: list[Finding] = []
