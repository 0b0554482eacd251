"""Conformance suites: the promises of a sampling rule, a rate and a family, for ours and for yours.

Example:
    >>> from fairbai.testing import check_sampling_rule
    >>> from fairbai.sampling import UniformFair
    >>> check_sampling_rule(UniformFair())
"""

from fairbai.testing.families import check_family
from fairbai.testing.rates import check_rate
from fairbai.testing.sampling_rules import check_sampling_rule

__all__ = ["check_family", "check_rate", "check_sampling_rule"]
