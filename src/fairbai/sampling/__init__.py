"""Which arm next: one file per rule. A rule is a frozen dataclass without state that states its own facts."""

from fairbai.sampling.bounds import Bounds
from fairbai.sampling.fair_top_two import FairTopTwo
from fairbai.sampling.fair_track_and_stop import FairTrackAndStop
from fairbai.sampling.lucb import LUCB
from fairbai.sampling.posterior_fair import PosteriorFair
from fairbai.sampling.rule import SamplingRule, Situation
from fairbai.sampling.top_two import TopTwo
from fairbai.sampling.track_and_stop import TrackAndStop
from fairbai.sampling.uniform_fair import UniformFair

__all__ = [
    "LUCB",
    "Bounds",
    "FairTopTwo",
    "FairTrackAndStop",
    "PosteriorFair",
    "SamplingRule",
    "Situation",
    "TopTwo",
    "TrackAndStop",
    "UniformFair",
]
