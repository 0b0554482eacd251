"""Attacks on what fairbai claims: what each found once, and what it finds now.

Every finding is a claim that did not hold, or held under a condition that nobody read. ``python -m tests.truth`` prints
the figure of then beside the figure of now; ``test_truth.py`` fails if one holds no longer.
"""
