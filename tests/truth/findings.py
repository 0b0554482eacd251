"""All findings, by subject."""

from tests.truth import analyses, counting, draws, plans, proofs, words

FINDINGS = [one for module in (draws, counting, analyses, proofs, plans, words) for one in module.FINDINGS]
