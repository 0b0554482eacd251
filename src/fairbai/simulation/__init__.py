"""Many runs of a rule on an instance, on any engine."""

from fairbai.simulation.calibration import Calibration
from fairbai.simulation.edge import batch_size, simulate_edges
from fairbai.simulation.runs import Runs
from fairbai.simulation.simulate import simulate
from fairbai.simulation.study import Study
from fairbai.simulation.summary import Summary
from fairbai.simulation.sweep import sweep

__all__ = ["Calibration", "Runs", "Study", "Summary", "batch_size", "simulate", "simulate_edges", "sweep"]
