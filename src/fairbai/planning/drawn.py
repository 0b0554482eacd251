"""How long experiments with the design-based stop take: simulated, as if sums of rewards were normal.

The policy is taken to be the optimal shares pi from the first trial on. The evidence of ``kernels.stopping.design``
after t trials is then, for a bet lambda on the leader b against a,

    lambda t (mu_b - mu_a) + u_b(lambda) S_b - d_a(lambda) S_a + t (U_b(lambda) + D_a(lambda)),

where S_a is the sum of the weighted residuals r of arm a, a Brownian motion of variance sigma^2 / pi per trial; U and D
are the means of pi log(1 + lambda r) and pi log(1 - lambda r), which contain what skewed rewards do; and u and d are
the slopes of these logarithms in r, by least squares. The S move in steps that grow with t, so that an experiment takes
as long to simulate whether it has a thousand trials or a billion, and no kernel is compiled for it.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import roots_jacobi

from fairbai.allocation import solve
from fairbai.experiment.defaults import default_sampling
from fairbai.planning.noise import Noise
from fairbai.problems import Bounded, Instance
from fairbai.problems.checks import Array
from fairbai.problems.rates import Bounded as Limited
from fairbai.problems.rates import Constant
from fairbai.stopping import DesignBased
from fairbai.stopping.design import hardest_pair

MIN_RUNS, MAX_RUNS = 64, 400
WORK = 8000  # arms times runs
GROWTH = 0.05  # of the trials, from one step to the next
STEPS = 800  # from ten trials to more than 1e15
NODES = 24  # of a quadrature
SEED = 0  # the same plan has the same numbers
BETWEEN = 0.5826  # standard deviations of a step by which looking at its end only is late (Chernoff; Siegmund 1985)
ALMOST = 1.0 - 1e-9
LEARNING, LITTLE, FEW = 0.27, 0.2, 4.0  # what learning the shares costs where there are many arms; docs/dashboard.md


def guarantees_of(instance: Instance, stopping: DesignBased) -> Array:
    """The least probability of every arm with the default rule of an experiment with this stop."""
    rates, arms = instance.rates, instance.means.size
    least = default_sampling(stopping, rates, arms).guarantees(rates, arms)  # type: ignore[arg-type]  # known floors
    return np.asarray(least)


def policy_of(instance: Instance, guarantees: Array) -> Instance:
    """The same instance with these floors, where they are higher than its own."""
    return instance if isinstance(instance.rates, Limited) else instance.with_rates(Constant(guarantees))


def without_noise(instance: Instance, stopping: DesignBased, delta: float) -> float:
    """The trials until the stop without noise, in the optimal shares; infinite where arms tie or are never drawn."""
    least = guarantees_of(instance, stopping)
    if least.min() <= 0.0:  # every arm must be drawn
        return math.inf
    gap, noise = hardest_pair(policy_of(instance, least))
    if gap <= 0.0:
        return math.inf
    bets, weights = stopping.grid(least)
    usable = bets <= least.min()
    growth = bets[usable] * gap - 0.5 * bets[usable] ** 2 * noise
    logs, level = np.log(weights[usable] / weights[usable].sum()), stopping.level(delta, least.size)
    low, high = 0.0, 8.0 * level / float(growth.max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.logaddexp.reduce(logs + middle * growth) < level else (low, middle)
    return max(high, float(least.size))


def durations(instance: Instance, stopping: DesignBased, delta: float) -> Array:
    """The trials until the stop of simulated experiments; those that take too long are given up, at 1e15 trials."""
    model = _Model.of(instance, stopping, delta)
    arms, rng = model.means.size, np.random.default_rng(SEED)
    runs = min(MAX_RUNS, max(MIN_RUNS, WORK // arms))
    trials, found, running = float(max(10, 2 * arms)), np.full(runs, math.inf), np.arange(runs)
    sums = rng.standard_normal((runs, arms)) * np.sqrt(trials * model.noise)
    for _ in range(STEPS):
        step = max(1.0, GROWTH * trials)
        trials += step
        sums += rng.standard_normal(sums.shape) * np.sqrt(step * model.noise)
        done = model.stops(sums, trials, step)
        found[running[done]] = trials
        running, sums = running[~done], sums[~done]
        if not running.size:
            break
    found[running] = trials
    return np.asarray(found * model.slower)


@dataclass(frozen=True)
class _Model:
    """An experiment with fixed probabilities.

    Attributes:
        means: Those of the arms, in [0, 1], the larger the better.
        tied: The least mean of a leader that ties with each arm.
        noise: The variance of what a trial adds to the sum of every arm.
        stretch: By which a rival's sum counts for less; see ``kernels.ties``.
        control: The arm that may be named beside the leader, or None.
        bets: The grid, and the logarithms of its ``weights``.
        up, down: The slopes u and d by arm and bet.
        growth, decay: U and D by arm and bet.
        level: That the evidence has to reach.
        slower: The cost of learning the shares, as a factor of the trials.
    """

    means: Array
    tied: Array
    noise: Array
    stretch: Array
    control: int | None
    bets: Array
    weights: Array
    up: Array
    down: Array
    growth: Array
    decay: Array
    level: float
    slower: float

    @classmethod
    def of(cls, instance: Instance, stopping: DesignBased, delta: float) -> "_Model":
        least = guarantees_of(instance, stopping)
        policy = policy_of(instance, least)
        fair = solve(policy)
        bets, weights = stopping.grid(least)
        weights = np.log(weights[bets <= least.min()])
        bets = bets[bets <= least.min()]
        means, variances = _moments(instance)
        stretch, shift = (np.broadcast_to(one, means.shape) for one in instance.ties)
        up, down, growth, decay = (np.empty((means.size, bets.size)) for _ in range(4))
        for arm, share in enumerate(fair.weights):
            rewards, chances = _law(float(means[arm]), float(variances[arm]))
            residual = (rewards - means[arm]) / share
            slope = chances * residual / (chances @ residual**2)
            won = np.log1p(bets[:, None] * residual)
            lost = np.log1p(-bets[:, None] / stretch[arm] * residual)
            growth[arm], decay[arm] = share * (won @ chances), share * (lost @ chances)
            up[arm], down[arm] = won @ slope, -(lost @ slope)
        free = max(0.0, 1.0 - float(least.sum()) - LITTLE)
        rivals = Noise.of(policy, fair).rivals
        slower = 1.0 + LEARNING * free * math.log(max(1.0, (rivals + 1.0) / FEW))
        tied, noise = (means - shift) / stretch, variances / fair.weights
        weights -= np.logaddexp.reduce(weights)
        level, control = stopping.level(delta, means.size), instance.question.control
        return cls(means, tied, noise, stretch, control, bets, weights, up, down, growth, decay, level, slower)

    def stops(self, sums: Array, trials: float, step: float) -> npt.NDArray[np.bool_]:
        """Which experiments end within the step that leads to these sums."""
        best = np.argmax(trials * self.means + sums, axis=1)
        rival, squared = self._hardest(best, sums, trials)
        if self.control is not None:  # it is named if more speaks for it
            control = np.full_like(best, self.control)
            other, least = self._hardest(control, sums, trials)
            for_control = least > squared
            best, rival = np.where(for_control, control, best), np.where(for_control, other, rival)
        rows = np.arange(best.size)
        own, their = sums[rows, best], sums[rows, rival]
        gaps = trials * (self.means[best] - self.tied[rival])
        logs = self.weights + self.bets * gaps[:, None] + trials * (self.growth[best] + self.decay[rival])
        logs += self.up[best] * own[:, None] - self.down[rival] * their[:, None]
        noise = self.noise[best] + self.noise[rival] / self.stretch[rival] ** 2
        lead = gaps + own - their / self.stretch[rival]
        bet = np.clip(lead / (noise * trials), 0.0, self.bets[-1])
        late = BETWEEN * bet * np.sqrt(noise * step)
        reached: npt.NDArray[np.bool_] = np.logaddexp.reduce(logs, axis=1) + late >= self.level
        return reached

    def _hardest(self, best: Array, sums: Array, trials: float) -> tuple[Array, Array]:
        """The rivals with the least lead in standard errors, and its square."""
        rows = np.arange(best.size)
        leads = (trials * self.means[best] + sums[rows, best])[:, None] - trials * self.tied - sums / self.stretch
        squares = np.maximum(leads, 0.0) ** 2 / (self.noise[best][:, None] + self.noise / self.stretch**2)
        squares[rows, best] = math.inf
        rival = np.argmin(squares, axis=1)
        return rival, squares[rows, rival]


def _moments(instance: Instance) -> tuple[Array, Array]:
    """Means and variances of rewards in [0, 1], of which more is better."""
    family, means = instance.family, np.asarray(instance.oriented.out_of_units(instance.means))
    if isinstance(family, Bounded):
        return means, family.variances(instance.means) / (family.high - family.low) ** 2
    return means, means * (1.0 - means)


def _law(mean: float, variance: float) -> tuple[Array, Array]:
    """Rewards and their probabilities: 0 and 1, or a quadrature of the Beta law with less variance."""
    if variance >= ALMOST * mean * (1.0 - mean):
        return np.array([0.0, 1.0]), np.array([1.0 - mean, mean])
    size = mean * (1.0 - mean) / variance - 1.0
    nodes, weights = roots_jacobi(NODES, (1.0 - mean) * size - 1.0, mean * size - 1.0)
    return 0.5 * (nodes + 1.0), weights / weights.sum()
