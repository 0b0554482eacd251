"""All findings, by subject."""

from tests.truth import analyses, counting, draws, names, plans, proofs, words

FINDINGS = [one for module in (draws, counting, analyses, proofs, plans, names, words) for one in module.FINDINGS]
