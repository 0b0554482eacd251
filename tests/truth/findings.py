"""All findings, by subject."""

from tests.truth import analyses, commands, counting, draws, plans, proofs, words

FINDINGS = [one for module in (draws, counting, analyses, proofs, plans, words, commands) for one in module.FINDINGS]
