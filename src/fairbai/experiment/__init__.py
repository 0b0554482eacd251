"""One running experiment in memory: assign, observe, reconsider, settle, decide."""

from fairbai.experiment.design import Averages
from fairbai.experiment.doubts import Doubt
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.settling import Settling

__all__ = ["Averages", "Doubt", "Experiment", "Settling"]
