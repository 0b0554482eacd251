"""The ask/tell interface of an experiment."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

from fairbai.experiment.defaults import checked_seed, drawn_seed
from fairbai.experiment.drawn_trials import OrderedTrials, checked_open_trials
from fairbai.experiment.linear import experiment_of
from fairbai.experiment.procedure import Procedure
from fairbai.experiment.settling import Settling, checked_settling
from fairbai.identifier import asking, batches, ending, snapshot, telling, units
from fairbai.identifier.oversight import Oversight
from fairbai.identifier.trials import Trial, tag_of
from fairbai.problems.checks import Array, Numbers, confidence, whole_trials
from fairbai.problems.configured import Form
from fairbai.problems.labels import labels_of
from fairbai.problems.question import Goal, Tolerance, question_of
from fairbai.problems.rates import Rate
from fairbai.problems.short_forms import FamilyForm, RateForm, family_of, rates_of, shares_given
from fairbai.sampling import SamplingRule
from fairbai.stopping import StoppingRule


class Identifier(Oversight):
    """Finds the best arm of a live experiment, with every arm's share guaranteed.

    ``ask`` tells which arm is next, ``tell`` takes what it earned. Rewards may come late, in another order, or never:
    what is assigned and what is observed are counted apart. If how late a reward comes can depend on its value, give
    ``report_after``: see docs/delays.md. All methods may be called from several threads.

    Args:
        arms: The labels of the arms, or their number (they are then called 0, 1, ...).
        delta: The probability of a wrong answer, in (0, 1/2).
        family: The reward family, such as ``"bernoulli"`` or ``Gaussian(variance=4.0)``. It must be given: an answer is
            proved for the family that you name.
        floors: The share of the trials that every arm is guaranteed: one floor for all arms, one per arm, floors by
            label such as ``{"a": 0.3}``, with factors by level such as ``{"headline": 0.2}``, or a rate or its JSON
            form; none by default.
        sampling: The sampling rule; ``FairTopTwo()`` by default, or a rule that draws if the stopping rule is
            ``DesignBased``.
        stopping: The stopping rule; ``Mixture()``, the tightest proved one, by default.
        settle: Whether to go on after the decision until every floor is met, with the least number of further trials.
            Floors that depend on the means are settled as they are at the decision. Floors that sum to 1 cannot be met
            exactly by whole numbers of trials; they are then met up to less than one trial, unless that is out of reach
            because an arm without a floor was pulled, when the experiment stops at the decision. A ``Settling`` raises
            floors that depend on the means by a margin for their error, and may go on learning them.
        seed: Of the random stream of the rule; random by default. The same seed and rewards give the same arms, so give
            one only in studies: the answer is proved if draws are independent of all that rewards depend on. Another
            experiment on the same visitors must not have the same seed, and whoever decides in which order visitors
            come must know neither it nor a snapshot.
        report_after: The age at which a reward is counted, in trials: every reward is held until so many further trials
            were assigned, and then counted, in the order of assignment. By default rewards are counted when they are
            told.
        silence: What a trial counts as that has no reward when it reaches that age: 0 where only successes are told.
            None means that its reward is lost. A reward that is told even later is not counted. Whether a reward is
            told in time must not depend on arms drawn after its trial.
        look_every: A decision is made only when the number of counted rewards is a multiple of it, such as a week's
            trials; 0 is only when ``look`` is called.
        hold_trials: For ``DesignBased``, whether trials are held here until all before them have a reward. Otherwise
            the caller keeps them, as ``ask_trial`` returned them, and tells them in the order of assignment; a trial
            with another arm or probability is refused.
        tolerance: How far from the best the answer may be: in the unit of the rewards, such as 0.01, or in percent of
            the best, such as "10%" (the means must then be positive). Arms that are as good as equal then end the
            experiment, too. By default the answer is the best arm itself.
        goal: "min" if less is better: latency, cost, errors. All numbers stay in your units and signs.
        control: The label of an arm that is in use. The answer is then an arm that is better than the control, and
            within the tolerance of the best; or the control, if no arm is better than it by more than the tolerance.
        max_trials: The most trials that are assigned, settling included; no limit by default. When all are assigned
            and no reward is out, the experiment has stopped, with or without a decision; ``status()`` then says how
            sure its recommendation is.
        rates: Another name of ``floors``, for floors that are learned, such as ``fb.rates.Gap(0.5)``.

    Attributes:
        procedure: The experiment itself, without labels, locks and checks: for the library's own modules.
        units: The trials of the units that were asked for.

    Example:
        >>> import fairbai as fb
        >>> ident = fb.Identifier(["a", "b"], delta=0.05, family=fb.Gaussian(1.0), floors=0.2, seed=7)
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
        family: FamilyForm = None,
        floors: RateForm = None,
        sampling: SamplingRule | Form | None = None,
        stopping: StoppingRule | Form | None = None,
        settle: bool | Settling = True,
        seed: int | None = None,
        report_after: int | None = None,
        silence: float | None = None,
        look_every: int = 1,
        hold_trials: bool = True,
        tolerance: Tolerance = None,
        goal: Goal = "max",
        control: Hashable | None = None,
        max_trials: int | None = None,
        rates: RateForm = None,
    ) -> None:
        labels = labels_of(arms)
        self.delta = confidence(delta)
        self.settle = checked_settling(settle)
        self.family = family_of(family)
        self.rates = rates_of(shares_given(floors, rates), labels, self.family)
        self.question, self.silence = question_of(goal, tolerance, control, labels), silence
        self.seed = drawn_seed() if seed is None else checked_seed(seed)
        rules = (sampling, stopping, self.seed, 0, self.question)
        experiment = experiment_of(len(labels), self.family, self.rates, *rules)
        self.sampling, self.stopping = experiment.sampling, experiment.stopping
        self.units: units.Units = {}
        opened = checked_open_trials(experiment, labels, report_after, silence, hold_trials)
        every = whole_trials("look_every", look_every, 0)
        self.max_trials = ending.checked_max_trials(max_trials, len(labels))
        super().__init__(labels, Procedure(experiment, self.delta, self.settle, opened, every, self.max_trials))

    # --- asking -------------------------------------------------------------------------------------------------

    def ask(self, n: int | None = None, available: Sequence[Any] | None = None, unit: str | None = None) -> Any:
        """The arm of the next trial; with ``n``, a list of the arms of the next n trials.

        After the decision the arms are those that still lack trials; the list is shorter than ``n`` where fewer than n
        trials are left. Raises RuntimeError if none is left: after the stop, and when ``max_trials`` are assigned.

        Args:
            n: How many trials.
            available: The arms that may be chosen, for a rule that can skip the others (``VirtualQueues``); all by
                default.
            unit: A visitor, say: the first time assigns a trial, and later the unit has the same arm, also after the
                stop. A new unit gets the answer then, without a trial. Units are kept as they are, in snapshots too.
        """
        if unit is None:
            mask = self._mask(available)
            return self._ask(n, lambda: self.arms[self.procedure.assign(mask)])
        name = units.checked_unit(unit, n)
        with self._lock:
            known = self.units.get(name)
            off = known is not None and self._index[known.arm] in self.procedure.off
            if self.decided and not self.can_ask and (known is None or off):
                return self.recommendation
            if off and known is not None:
                raise RuntimeError(f"arm {known.arm!r} of unit {name!r} is switched off: show it your default")
            return self.ask_trial(available=available, unit=name).arm

    def ask_trial(self, n: int | None = None, available: Sequence[Any] | None = None, unit: str | None = None) -> Any:
        """Like ``ask``, but returns a ``Trial`` (with ``n``, a list of them), which ``tell`` takes in place of the arm.

        With ``report_after`` a reward must say which trial it belongs to, unless only one of its arm is open. With
        ``unit`` it is the trial of that unit, which is told once.
        """
        mask = self._mask(available)
        if unit is None:
            return self._ask(n, lambda: self._assign_trial(mask))
        name = units.checked_unit(unit, n)
        with self._lock:
            if name not in self.units:
                self.units[name] = self._ask(None, lambda: self._assign_trial(mask))
            return self.units[name]

    def forget(self, unit: str) -> bool:
        """Forget who a unit was, whose trial stays; returns whether it was known."""
        with self._lock:
            return self.units.pop(unit, None) is not None

    def _mask(self, available: Sequence[Any] | None) -> Array | None:
        """1 for every available arm, or None if all are."""
        return None if available is None else asking.mask(self.procedure, available, self._known)

    def _ask(self, n: int | None, following: Callable[[], Any]) -> Any:
        if n is not None:
            n = asking.checked_n(n, self.report_after)
        with self._lock:
            self._check_running()
            found = following() if n is None else self._several(n, following)
            self._warn_once()  # rewards of trials that came of age are counted too
            return found

    def _several(self, n: int, following: Callable[[], Any]) -> list[Any]:
        """At most n trials, all or none."""
        if n == 1:  # which is all or none anyway
            return [following()]
        with self.procedure.all_or_nothing():
            found: list[Any] = []
            while len(found) < n and self.procedure.assigns:
                found.append(following())
            return found

    def _assign_trial(self, available: Array | None) -> Trial:
        number, decided = self.trials, self.decided
        arm = self.procedure.assign(available)
        chance = None if decided else self._experiment.drawn_with(arm)
        kept = isinstance(self.procedure.open_trials, OrderedTrials)  # by the caller
        tag = tag_of(self.seed, self._experiment.run, number, arm, chance) if kept else None
        return Trial(number, self.arms[arm], chance, tag)

    def _check_running(self) -> None:
        if not self.procedure.assigns:
            raise RuntimeError(ending.reason(self.procedure, self.recommendation))

    # --- telling ------------------------------------------------------------------------------------------------

    def tell(self, arm: Any, reward: Any) -> None:
        """The reward of a trial; or lists of arms and rewards, which count all or, where one is wrong, not at all.

        The stopping rule is checked once, after the last of them. Rewards that come after the decision are counted and
        do not change it.

        Args:
            arm: The label of the arm, or the ``Trial``. With ``report_after`` a label is enough only if exactly one
                trial of the arm is open.
            reward: What it earned.
        """
        told, rewards = telling.pairs(arm, reward)
        with self._lock:
            indices = [self._known(one.arm if isinstance(one, Trial) else one) for one in told]
            values = [self._experiment.family.value(value) for value in rewards]
            if isinstance(opened := self.procedure.open_trials, OrderedTrials):
                telling.check_kept(self.procedure, opened, self.seed, told, indices)
                telling.count_next(self.procedure, opened, indices, values, [one.probability for one in told])
            elif opened is not None:
                telling.hold(self.procedure, opened, told, indices, values)
            else:
                telling.check_pending(self._experiment.state, self.arms, indices)
                self.procedure.observe(indices, values)
            self._warn_once()

    # --- trials that others assign ------------------------------------------------------------------------------

    def policy(self, trials: int, pending: Numbers | None = None) -> Array:
        """The share of every arm in the next ``trials`` trials, for others to choose by; nothing changes.

        Before the decision these are the probabilities of a rule that draws from a policy, and of every other rule the
        shares of its next choices if no reward came (of about 1,000 choices, where ``trials`` are more). After it,
        the trials that floors still lack come first, and the others keep the floors and go to the answer. If
        ``max_trials`` leaves fewer trials, the policy is for those. Raises RuntimeError if it leaves none, and after
        the stop.

        Args:
            trials: How many trials the policy is for, by all who follow it.
            pending: How many trials of every arm are expected of batches that are on their way.
        """
        trials, expected = batches.checked_question(trials, pending, len(self.arms))
        with self._lock:
            self._check_running()
            return batches.policy(self.procedure, batches.trials_left(self.procedure, trials, expected), expected)

    def tell_batch(
        self,
        pulls: Numbers,
        sums: Numbers,
        squares: Numbers | None = None,
        probabilities: Numbers | None = None,
    ) -> None:
        """Count a batch of trials that others assigned: the trials of every arm, and the sums of their rewards.

        They count as assigned and observed, all or, where one number is wrong, not at all. The stopping rule is checked
        once, after all of them. A batch that comes after the decision does not change it, but the floors are then to be
        met with these trials too: ``stopped`` can become false again. A batch counts though it goes beyond
        ``max_trials`` or comes after the end: its trials were made, and it may decide. Batches know no single trials,
        and so are refused with ``report_after``.

        With ``DesignBased`` each of the trials must have been drawn, independently of the others, with the same
        probabilities, which ``policy`` gave before; and which batch is told next, and when, must not depend on its
        rewards, nor on its arms. So tell the batches of several nodes that followed the same policy as one: their sums.

        Args:
            pulls: The trials of every arm.
            sums: The sums of their rewards.
            squares: The sums of their squared rewards. ``DesignBased`` needs them for ``Bounded`` rewards, and so do
                unknown variances.
            probabilities: With which the arms were drawn; for ``DesignBased`` only.
        """
        if self.report_after is not None:
            raise ValueError("batches need report_after=None: they do not say when their rewards are of age")
        with self._lock:
            batches.count(self.procedure, pulls, sums, squares, probabilities)
            self._warn_once()

    # --- keeping ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON, for ``from_dict``.

        Rates and rules that are Python code have no JSON form; they are left out and must be given to ``from_dict``.
        """
        with self._lock:
            return snapshot.write(self)

    @classmethod
    def from_dict(
        cls,
        form: dict[str, Any],
        rates: Rate | None = None,
        sampling: SamplingRule | None = None,
        same_draws: bool = False,
    ) -> Self:
        """The experiment of a snapshot, which draws anew.

        Arms that were drawn after the snapshot are lost, but people may have seen them: drawn again, they would not be
        independent of who comes.

        Args:
            form: The snapshot.
            rates: Stand in for those that are Python code.
            sampling: Stands in for a rule that is Python code.
            same_draws: Go on with the very same arms; only where no trial was assigned after the snapshot.
        """
        identifier = snapshot.read(cls, form, rates, sampling)
        if not same_draws:
            identifier.procedure.restart_stream(drawn_seed())
        return identifier
