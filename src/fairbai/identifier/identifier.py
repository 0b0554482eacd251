"""The ask/tell interface of an experiment."""

import math
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from fairbai.identifier import snapshot
from fairbai.identifier.status import Status
from fairbai.kernels import experiment as kernels
from fairbai.kernels import state as rows
from fairbai.kernels.allocation import allocate
from fairbai.kernels.rates import CONSTANT, spare_share
from fairbai.kernels.rng import two_uniforms
from fairbai.kernels.sampling import PYTHON, rule_workspace
from fairbai.kernels.settling import furthest_behind, settling_trials
from fairbai.problems.checks import Array, confidence, frozen
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.rates import Constant, Rate
from fairbai.sampling import FairTopTwo, SamplingRule, Situation
from fairbai.stopping import Mixture, StoppingRule

LARGEST_SEED = 2**63 - 1


class Identifier:
    """Finds the best arm of a live experiment, with every arm's share guaranteed.

    ``ask`` tells which arm is next, ``tell`` takes what it earned. Rewards may come late, in another order, or never:
    what is assigned and what is observed are counted apart. All methods may be called from several threads.

    Args:
        arms: The labels of the arms, or their number (they are then called 0, 1, ...).
        delta: The probability of a wrong answer, in (0, 1/2).
        family: The reward family; Gaussian with variance 1 by default.
        rates: The share of the trials that every arm is guaranteed; none by default.
        sampling: The sampling rule; ``FairTopTwo()`` by default.
        stopping: The stopping rule; ``Mixture()``, the tightest proved one, by default.
        settle: Whether to go on after the decision until every floor is met, with the least number of further trials.
            Floors that depend on the means are settled as they are at the decision. Floors that sum to 1 cannot be met
            exactly by whole numbers of trials; they are then met up to less than one trial, unless that is out of reach
            because an arm without a floor was pulled, when the experiment stops at the decision.
        seed: Of the random stream of the rule; the same seed and rewards give the same arms.

    Example:
        >>> import fairbai as fb
        >>> ident = fb.Identifier(["a", "b"], delta=0.05, rates=fb.rates.Constant(0.2), seed=7)
        >>> while not ident.stopped:
        ...     arm = ident.ask()
        ...     ident.tell(arm, {"a": 1.0, "b": 0.0}[arm])
        >>> ident.recommendation
        'a'
    """

    def __init__(
        self,
        arms: int | Sequence[Hashable],
        delta: float,
        family: Family | None = None,
        rates: Rate | None = None,
        sampling: SamplingRule | None = None,
        stopping: StoppingRule | None = None,
        settle: bool = True,
        seed: int = 0,
    ) -> None:
        self.arms = _labels(arms)
        self.delta = confidence(delta)
        self.family = _instance_of("family", Family, Gaussian() if family is None else family)
        self.rates = _instance_of("rates", Rate, Constant() if rates is None else rates)
        self.sampling = _instance_of("sampling", SamplingRule, FairTopTwo() if sampling is None else sampling)
        self.stopping = _instance_of("stopping", StoppingRule, Mixture() if stopping is None else stopping)
        self.stopping.check(self.family)
        self.settle = bool(settle)
        self.seed = _seed(seed)
        self._index = {label: arm for arm, label in enumerate(self.arms)}
        self._lock = threading.RLock()
        self._level = self.stopping.level(self.delta, len(self.arms))
        self._configure()

    def _configure(self) -> None:
        """Lay out the arrays that the kernels work on."""
        arms = len(self.arms)
        rate_code = getattr(self.rates, "code", CONSTANT)
        learned = not isinstance(self.rates, Constant)
        self._python_rates = learned and rate_code == CONSTANT
        rule = self.sampling.code
        self._codes = np.array(
            [
                self.family.code,
                rate_code,
                learned,
                PYTHON if rule is None else rule,
                self.sampling.origin,
                self.stopping.code,
                self.seed,
                0,
            ],
            dtype=np.int64,
        )
        p0, temperature = getattr(self.rates, "p0", 0.0), getattr(self.rates, "temperature", 1.0)
        stopping = self.stopping.parameter(self.family)
        self._reals = np.array([p0, temperature, self.sampling.parameter, stopping])
        self._state = np.zeros((rows.PENALTY + 1, arms))
        self._state[rows.SCALE] = self.family.scales(arms)
        self._numbers = np.zeros(rows.START + 1)
        self._numbers[rows.UNSEEN] = arms
        self._numbers[rows.SPARE] = 1.0
        if not learned:
            self._set_floors(self.rates.floors(np.zeros(arms)))
        self._policy = np.empty(arms)
        self._room = rule_workspace(arms)
        self._evidence: tuple[float, int, float, float, float] = (-math.inf, 0, 0.0, 1.0, 0.0)
        self._decision: snapshot.Decision | None = None

    # --- asking -------------------------------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Any:
        """The arm of the next trial; with ``n``, a list of the arms of the next n trials.

        After the decision the arms are those that still lack trials; the list is shorter than ``n`` where fewer than n
        trials are left. Raises RuntimeError after the stop.
        """
        if n is not None and (not isinstance(n, (int, np.integer)) or n < 1):
            raise ValueError(f"n must be a whole number from 1, got {n!r}")
        with self._lock:
            if self.stopped:
                raise RuntimeError(f"the experiment has stopped: {self.recommendation!r} is the answer")
            if n is None:
                return self.arms[self._assign()]
            with self._all_or_nothing():
                arms: list[Any] = []
                while len(arms) < n and not self.stopped:
                    arms.append(self.arms[self._assign()])
                return arms

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo what was counted if the user's own rule or rates fail on the way."""
        before = self._state.copy(), self._numbers.copy()
        try:
            yield
        except BaseException:
            self._state[:], self._numbers[:] = before
            raise

    def _assign(self) -> int:
        if self._decision is not None:
            return self._assign_settling(self._decision)
        if self.sampling.code is None:
            return self._assign_by_python()
        return int(kernels.assign(self._codes, self._reals, self._state, self._numbers, self._policy))

    def _assign_settling(self, decision: "snapshot.Decision") -> int:
        spare = float(spare_share(decision.floors))
        arm = int(furthest_behind(self._state, decision.floors, decision.final_round, spare))
        self._count_assigned(arm)
        return arm

    def _assign_by_python(self) -> int:
        """Ask a rule that is written in Python, and check its answer before anything changes."""
        number = int(self._numbers[rows.ROUND])
        uniform = float(two_uniforms(self.seed, 0, number)[0])
        assigned, observed, means, floors = self._state[[rows.ASSIGNED, rows.OBSERVED, rows.MEAN, rows.FLOOR]]
        situation = Situation(frozen(assigned), frozen(observed), frozen(means), frozen(floors), uniform)
        arm = self.sampling.choose(situation)
        if not isinstance(arm, (int, np.integer)) or not 0 <= arm < len(self.arms):
            raise ValueError(f"{self.sampling.kind} must choose an arm from 0 to {len(self.arms) - 1}, got {arm!r}")
        self._count_assigned(int(arm))
        return int(arm)

    def _count_assigned(self, arm: int) -> None:
        self._state[rows.ASSIGNED, arm] += 1.0
        self._numbers[rows.ROUND] += 1.0

    # --- telling ------------------------------------------------------------------------------------------------

    def tell(self, arm: Any, reward: Any) -> None:
        """The reward of a trial; or lists of arms and rewards, which count all or, where one is wrong, not at all.

        The stopping rule is checked once, after the last of them. Rewards that come after the decision are counted and
        do not change it.
        """
        arms, rewards = _pairs(arm, reward)
        with self._lock:
            indices = [self._known(label) for label in arms]
            values = [self.family.statistic(value) for value in rewards]
            self._check_assigned(indices)
            if self._python_rates:
                with self._all_or_nothing():
                    self._observe(indices, values)
            else:
                self._observe(indices, values)

    def _observe(self, indices: list[int], values: list[float]) -> None:
        for index, value in zip(indices, values, strict=True):
            kernels.observe(self._codes, self._reals, self._state, self._numbers, index, value)
        self._reconsider()

    def _known(self, label: Any) -> int:
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise ValueError(f"arm must be one of {_some(self.arms)}, got {label!r}") from None

    def _check_assigned(self, indices: list[int]) -> None:
        counts: dict[int, int] = {}
        for arm in indices:
            counts[arm] = counts.get(arm, 0) + 1
        for arm, got in counts.items():
            pending = int(self._state[rows.ASSIGNED, arm] - self._state[rows.OBSERVED, arm])
            if got > pending:
                raise ValueError(
                    f"arm {self.arms[arm]!r} has {pending} trials that wait for a reward, got {got} rewards"
                )

    def _reconsider(self) -> None:
        """Floors, allocation and evidence at the new means; and the decision, when it is time."""
        if self._python_rates and self._decision is None and self._numbers[rows.UNSEEN] == 0.0:
            self._set_floors(self.rates.floors(self._state[rows.MEAN]))
        self._evidence = kernels.reconsider(self._codes, self._reals, self._state, self._numbers, self._room)
        if self._decision is None and self._evidence[0] >= self._level:
            floors = self._state[rows.FLOOR].copy()
            more = settling_trials(self._state, self._numbers, floors, self._numbers[rows.SPARE]) if self.settle else 0
            final = int(self._numbers[rows.ROUND]) + int(more)
            self._decision = snapshot.Decision(self._best(), int(self._numbers[rows.ROUND]), final, floors)

    def _set_floors(self, floors: Array) -> None:
        self._state[rows.FLOOR] = floors
        self._numbers[rows.SPARE] = spare_share(self._state[rows.FLOOR])

    def _best(self) -> int:
        return int(np.argmax(self._state[rows.MEAN]))

    # --- looking ------------------------------------------------------------------------------------------------

    @property
    def decided(self) -> bool:
        """Whether the answer is found: the GLR has crossed the threshold, and the recommendation is final."""
        return self._decision is not None

    @property
    def stopped(self) -> bool:
        """Whether the answer is found and, with ``settle``, all floors are met."""
        decision = self._decision
        return decision is not None and bool(self._numbers[rows.ROUND] >= decision.final_round)

    @property
    def recommendation(self) -> Any:
        """The label of the best arm so far, final when ``decided``; None before every arm has a reward."""
        with self._lock:
            if self._decision is not None:
                return self.arms[self._decision.recommendation]
            return None if self._numbers[rows.UNSEEN] > 0.0 else self.arms[self._best()]

    def status(self) -> Status:
        """What is known now."""
        with self._lock:
            state, numbers = self._state.copy(), self._numbers.copy()
            _, _, glr, factor, penalty = self._evidence
            threshold = (self._level + penalty) / factor
            state[rows.MEAN, state[rows.OBSERVED] == 0.0] = math.nan
            return Status(
                arms=self.arms,
                assigned=state[rows.ASSIGNED].astype(np.int64),
                observed=state[rows.OBSERVED].astype(np.int64),
                means=state[rows.MEAN],
                shares=state[rows.ASSIGNED] / max(1.0, numbers[rows.ROUND]),
                floors=state[rows.FLOOR] if self._decision is None else self._decision.floors.copy(),
                glr=glr,
                threshold=threshold,
                proved=self.stopping.proved(self.family),
                decided=self.decided,
                stopped=self.stopped,
                recommendation=self.recommendation,
                expected_remaining=self._expected_remaining(glr, threshold),
            )

    def _expected_remaining(self, glr: float, threshold: float) -> float:
        """The GLR grows by about 1 / T*_p a trial."""
        if self._decision is not None:
            return float(max(0.0, self._decision.final_round - self._numbers[rows.ROUND]))
        if self._numbers[rows.UNSEEN] > 0.0:
            return math.inf
        state = self._state
        weights = np.empty(len(self.arms))
        _, cost, _, _ = allocate(
            self.family.code,
            state[rows.INSIDE],
            state[rows.SCALE],
            state[rows.FLOOR],
            self._numbers[rows.SPARE],
            0.0,
            weights,
            self._room[1:],
        )
        rest = float(max(0.0, threshold - glr)) / float(cost) if cost > 0.0 else math.inf
        return float(math.ceil(rest)) if math.isfinite(rest) else math.inf

    # --- keeping ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON: ``from_dict`` goes on with the very same arms.

        Rates and rules that are Python code have no JSON form; they are left out and must be given to ``from_dict``.
        """
        with self._lock:
            return snapshot.write(self)

    @classmethod
    def from_dict(cls, form: dict[str, Any], rates: Rate | None = None, sampling: SamplingRule | None = None) -> Self:
        """The experiment of a snapshot. ``rates`` and ``sampling`` stand in for those that are Python code."""
        return snapshot.read(cls, form, rates, sampling)


def _pairs(arm: Any, reward: Any) -> tuple[list[Any], list[Any]]:
    """The arguments of ``tell`` as two lists of one length."""
    if not isinstance(arm, (list, np.ndarray)):
        return [arm], [reward]
    if not isinstance(reward, (list, tuple, np.ndarray)):
        raise ValueError(f"rewards must be a list like arms, got {reward!r}")
    if len(arm) != len(reward):
        raise ValueError(f"rewards must be as many as arms ({len(arm)}), got {len(reward)}")
    return list(arm), list(reward)


def _labels(arms: int | Sequence[Hashable]) -> tuple[Any, ...]:
    try:
        labels = tuple(range(arms)) if isinstance(arms, (int, np.integer)) else tuple(arms)
    except TypeError:
        raise ValueError(f"arms must be their number or their labels, got {arms!r}") from None
    if len(labels) < 2:
        raise ValueError(f"arms must be at least two, got {len(labels)}")
    for label in labels:
        if not isinstance(label, (str, int)):
            raise ValueError(f"arms must have labels that are strings or whole numbers, got {label!r}")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"arms must have different labels, got {twice!r} twice")
    return labels


def _instance_of(name: str, kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {value!r}")
    return value


def _seed(seed: Any) -> int:
    if not isinstance(seed, (int, np.integer)) or not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"seed must be a whole number from 0 to 2**63 - 1, got {seed!r}")
    return int(seed)


def _some(labels: tuple[Any, ...]) -> str:
    shown = ", ".join(repr(label) for label in labels[:5])
    return shown if len(labels) <= 5 else f"{shown}, ... ({len(labels)} arms)"
