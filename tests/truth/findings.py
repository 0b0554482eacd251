"""All findings, by subject."""

from tests.truth import analyses, commands, counting, draws, names, plans, proofs, words

MODULES = (draws, counting, analyses, proofs, plans, names, words, commands)
FINDINGS = [one for module in MODULES for one in module.FINDINGS]
