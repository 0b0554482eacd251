"""Conformance suites: the promises of a sampling rule, for ours and for yours.

Example:
    >>> from fairbai.testing import check_sampling_rule
    >>> from fairbai.sampling import UniformFair
    >>> check_sampling_rule(UniformFair())
"""

from fairbai.testing.sampling_rules import check_sampling_rule

__all__ = ["check_sampling_rule"]
