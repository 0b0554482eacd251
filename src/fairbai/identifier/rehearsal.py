"""Small experiments that call every kernel of an Identifier, so that each is loaded, or asked for, beforehand."""

from fairbai.identifier.identifier import Identifier
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.problems.configured import Form
from fairbai.problems.short_forms import FamilyForm, RateForm
from fairbai.sampling import SamplingRule

DELTA = 0.1
LATER = 100  # trials after the decision
MAX_TRIALS = 1000  # of which it needs a few hundred


def rehearse(
    family: FamilyForm = None, floors: RateForm = 0.25, sampling: SamplingRule | Form | None = None
) -> Identifier:
    """Play an experiment to its end; returns it. Rewards are 0 or 1 (or close), which most families take."""
    ident = Identifier(2, DELTA, family, floors, sampling)
    noise = 0.1 if ident.family.code == GAUSSIAN_UNKNOWN else 0.0  # rewards that never differ would be no evidence
    ident.tell_batch([1, 1], [1.0, 0.0], [1.0, 0.0] if noise else None)
    ident.policy(10)
    ident.status()
    while not ident.decided and ident.trials < MAX_TRIALS:
        arm = ident.ask()
        ident.tell(arm, 1.0 - arm + noise * (ident.trials % 3))
    ident.tell_batch([0, LATER], [0.0, 0.0], [0.0, 0.0] if noise else None)
    for one in (ident, Identifier.from_dict(ident.to_dict())):  # now the other arm lacks trials
        while not one.stopped and one.trials < MAX_TRIALS:
            one.tell(one.ask(), 0.0)
        one.status()
    return ident


def rehearse_drawn() -> Identifier:
    """The same with the stop for means that change, which draws its arms."""
    ident = Identifier(2, DELTA, "bernoulli", 0.25, stopping="design_based")
    ident.tell_batch([1, 1], [1.0, 0.0], probabilities=ident.policy(2))
    while not ident.stopped and ident.trials < MAX_TRIALS:
        trial = ident.ask_trial()
        ident.tell(trial, 1.0 - trial.arm)
    ident = Identifier.from_dict(ident.to_dict())
    ident.averages()
    ident.status()
    return ident
