"""Which arm next: one file per rule. A rule is a frozen dataclass without state that states its own facts."""

from fairbai.sampling.bounds import Bounds
from fairbai.sampling.constrained_epsilon_greedy import ConstrainedEpsilonGreedy
from fairbai.sampling.constrained_lp import ConstrainedLP
from fairbai.sampling.exposure_fair import ExposureFair
from fairbai.sampling.fair_thompson import FairThompson
from fairbai.sampling.fair_top_two import FairTopTwo
from fairbai.sampling.fair_track_and_stop import FairTrackAndStop
from fairbai.sampling.fair_ucb import FairUCB
from fairbai.sampling.lucb import LUCB
from fairbai.sampling.meritocratic_chain import MeritocraticChain
from fairbai.sampling.posterior_fair import PosteriorFair
from fairbai.sampling.proportional_catch_up import ProportionalCatchUp
from fairbai.sampling.rule import SamplingRule, Situation
from fairbai.sampling.stochastic_quota import StochasticQuota
from fairbai.sampling.strict_quota import StrictQuota
from fairbai.sampling.top_two import TopTwo
from fairbai.sampling.track_and_stop import TrackAndStop
from fairbai.sampling.uniform_fair import UniformFair
from fairbai.sampling.virtual_queues import VirtualQueues

__all__ = [
    "LUCB",
    "Bounds",
    "ConstrainedEpsilonGreedy",
    "ConstrainedLP",
    "ExposureFair",
    "FairThompson",
    "FairTopTwo",
    "FairTrackAndStop",
    "FairUCB",
    "MeritocraticChain",
    "PosteriorFair",
    "ProportionalCatchUp",
    "SamplingRule",
    "Situation",
    "StochasticQuota",
    "StrictQuota",
    "TopTwo",
    "TrackAndStop",
    "UniformFair",
    "VirtualQueues",
]
