"""A small experiment that calls every kernel of an Identifier, so that each is loaded, or asked for, beforehand."""

from fairbai.identifier.identifier import Identifier
from fairbai.problems.configured import Form
from fairbai.problems.short_forms import FamilyForm, RateForm
from fairbai.sampling import SamplingRule

DELTA = 0.1
MAX_TRIALS = 500  # of which it needs less than a hundred


def rehearse(
    family: FamilyForm = None, rates: RateForm = 0.25, sampling: SamplingRule | Form | None = None
) -> Identifier:
    """Play an experiment to its end; returns it."""
    ident = Identifier(2, DELTA, family, rates, sampling)
    ident.tell_batch([1, 1], [1.0, 0.0])
    ident.policy(10)
    ident.status()
    while not ident.decided and ident.trials < MAX_TRIALS:
        arm = ident.ask()
        ident.tell(arm, 1.0 - arm)
    ident = Identifier.from_dict(ident.to_dict())
    ident.tell_batch([0, 40], [0.0, 0.0])  # so that it is to settle again
    while not ident.stopped and ident.trials < MAX_TRIALS:
        ident.tell(ident.ask(), 0.0)
    ident.status()
    return ident
