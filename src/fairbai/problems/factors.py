"""Factorial designs: every combination of the levels of several factors, described by a few effects.

Three headlines, three pictures and two buttons are 18 combinations, but 1 + 2 + 2 + 1 = 6 parameters: the mean of all
combinations, and what each level adds to it. The features are contrasts that sum to 0 over the levels of a factor and
are orthogonal to each other, scaled so that XᵀX = K I over the K combinations. So the effect of a level is its
difference from the average level; no level is special, as the reference level of a dummy coding is; and the numbers of
an experiment do not depend on the order of the levels, because any two such bases differ by a rotation.
"""

import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fairbai.problems.checks import Array, Numbers, frozen, number
from fairbai.problems.factor_checks import check_names, check_size, factors_of, joined, pairs_of
from fairbai.problems.linear import Linear
from fairbai.problems.rates import Bounded, Group, Overlapping
from fairbai.problems.rates.groups import groups_of
from fairbai.problems.rates.overlapping import overlapping
from fairbai.problems.sentences import listed, named

BETWEEN = " / "  # the levels of a combination, in its label
MAX_FLOAT = sys.float_info.max
Level = str | int | float
Shares = float | Mapping[Level, float]
"""Of the levels of a factor: one for all of them, or by level."""


class Effect(NamedTuple):
    """The effect of a level, or of a pair of levels beyond what each of them adds, as a contrast of the parameters.

    Attributes:
        factor: The factor, or the two factors of an interaction, such as "headline × picture".
        level: The level, or the pair of levels.
        contrast: The effect is ``contrast @ theta``.
        arms: The numbers of the combinations that have the level, or both levels.
    """

    factor: str
    level: str
    contrast: Array
    arms: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Factorial(Linear):
    """Linear arms that are all combinations of the levels of several factors; ``fb.factorial`` makes one.

    It is a family: ``fb.Identifier(design.arms, delta, family=design, floors=design.rates({"headline": 0.2}))``.

    Attributes:
        factors: The levels of every factor, in their order.
        interactions: The pairs of factors that may interact.
        arms: The labels of the combinations, such as "new / red / buy".
        features: One row per combination, one column per parameter.
        parameters: The names of the parameters.
        effects: Every level of every factor, then every pair of levels of every interaction.
    """

    features: Any = field(init=False, repr=False, default=None)  # follows from the factors
    factors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    interactions: tuple[tuple[str, str], ...] = ()
    arms: ClassVar[tuple[str, ...]]  # these, too, follow from the factors
    parameters: ClassVar[tuple[str, ...]]
    effects: ClassVar[tuple[Effect, ...]]
    _model: ClassVar[str] = "the effects in the model add up"

    def __post_init__(self) -> None:
        self._set(factors=factors_of(self.factors))
        self._set(interactions=pairs_of(self.interactions, list(self.factors)))
        check_names([*self.factors, *map(joined, self.interactions)])
        check_size(self.factors, self.interactions)
        combinations = list(itertools.product(*self.factors.values()))
        labels = tuple(BETWEEN.join(levels) for levels in combinations)
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise ValueError(f"factors must give every combination a label of its own, got {twice!r} twice")
        places = dict(zip(self.factors, self._places().T, strict=True))
        blocks = self._blocks()
        columns = [block[tuple(places[name] for name in names)] for names, block in blocks]
        self._set(features=np.hstack([np.ones((len(labels), 1)), *columns]), arms=labels)
        self._set(parameters=("mean", *(name for names, block in blocks for name in _parameters(names, block))))
        self._set(effects=tuple(self._effects(blocks)))
        super().__post_init__()

    def group(self, factor: str, level: Level) -> list[int]:
        """The numbers of the combinations that have a level."""
        levels = self._levels(factor)
        if str(level) not in levels:
            raise ValueError(f"level of {factor} must be one of {listed([repr(one) for one in levels])}, got {level!r}")
        column = list(self.factors).index(factor)
        found: list[int] = np.flatnonzero(self._places()[:, column] == levels.index(str(level))).tolist()
        return found

    def rates(
        self,
        levels: Mapping[str, Shares],
        floor: float | Numbers = 0.0,
        ceilings: Mapping[str, Shares] | None = None,
        ceiling: float | Numbers = 1.0,
    ) -> Overlapping:
        """Floors for levels, which every level gets at least of the trials; and ceilings, which it gets at most.

        Args:
            levels: For some factors, one floor for all levels, or floors by level.
            floor: One for every combination.
            ceilings: As ``levels``.
            ceiling: One for every combination.

        Example:
            >>> design = factorial({"headline": ["old", "new"], "button": ["buy", "try", "go"]})
            >>> design.rates({"headline": 0.4, "button": {"buy": 0.5}}).groups[2]
            Group(arms=(0, 3), floor=0.5, ceiling=1.0)
            >>> design.rates({}, ceilings={"button": {"go": 0.25}}).groups[0]
            Group(arms=(2, 5), floor=0.0, ceiling=0.25)
        """
        least, most = self._by_level("floor", levels), self._by_level("ceiling", {} if ceilings is None else ceilings)
        limits = {level: (least.get(level, 0.0), most.get(level, 1.0)) for level in {**least, **most}}
        groups = [Group(self.group(*level), *limit) for level, limit in limits.items()]
        names = [f"{factor} {level!r}" for factor, level in limits]
        every = overlapping(Bounded(floor, ceiling), len(self.arms))
        single = [named(self.arms[one.numbers[0]]) for one in groups_of(every.groups)]
        found = Overlapping(floor, [*groups, *every.groups])
        found.polytope(len(self.arms), self.arms, [*names, *single])
        return found

    def _by_level(self, name: str, given: Mapping[str, Shares]) -> dict[tuple[str, str], float]:
        """Floors or ceilings, by factor and level."""
        if not isinstance(given, Mapping):
            raise ValueError(f'{name}s of levels must be by factor, such as {{"headline": 0.2}}, got {given!r}')
        found = {}
        for factor, shares in given.items():
            known = self._levels(factor)
            by_level = shares if isinstance(shares, Mapping) else dict.fromkeys(known, shares)
            if not by_level:
                raise ValueError(f"{name}s of {factor} must name a level, got {{}}")
            for level, share in by_level.items():
                self.group(factor, level)  # checks it
                share = number(f"{name} of {factor} {level!r}", share, 0.0, 1.0, "in [0, 1]")
                found[factor, str(level)] = share
        return found

    def means(self, effects: Mapping[str, Mapping[Level, float]], baseline: float = 0.0) -> Array:
        """The means of all combinations: the baseline and what the levels of each add to it.

        Args:
            effects: By factor and level, or by interaction such as "headline × picture" and pair of levels such as
                "old / cat". What is not named adds nothing.
            baseline: The mean of a combination whose levels add nothing.

        Example:
            >>> design = factorial({"headline": ["old", "new"], "button": ["buy", "try"]})
            >>> design.means({"headline": {"new": 0.25}, "button": {"try": 0.125}}, baseline=0.5)
            array([0.5  , 0.625, 0.75 , 0.875])
        """
        if not isinstance(effects, Mapping) or not all(isinstance(levels, Mapping) for levels in effects.values()):
            example = '{"button": {"try": 0.1}}'
            raise ValueError(f"effects must be by factor and level, such as {example}, got {effects!r}")
        known: dict[str, dict[str, tuple[int, ...]]] = {}
        for one in self.effects:
            known.setdefault(one.factor, {})[one.level] = one.arms
        found = np.full(len(self.arms), _finite("baseline", baseline))
        for factor, levels in effects.items():
            _check_effects_of(factor, known)
            for level, effect in levels.items():
                _one_of(f"effects of {factor}", str(level), known[factor])
                added = _finite(f"effect of {factor} {level!r}", effect)
                with np.errstate(over="ignore"):  # the instance refuses infinite means
                    found[list(known[factor][str(level)])] += added
        return found

    def _misfit(self, mean: float, fitted: float, arm: int) -> str:
        """Why means are refused that effects do not add up to, by the arm that is furthest off."""
        pair = next((pair for pair in itertools.combinations(self.factors, 2) if pair not in self.interactions), None)
        why = "" if pair is None else f": add an interaction, such as that of {pair[0]!r} and {pair[1]!r}"
        got = f"got {mean} for {self.arms[arm]!r}, where the closest fit is {fitted:.9g}"
        return f"the effects in the model do not add up to these means, {got}{why}"

    def missing(self, columns: int) -> tuple[Array, ...]:
        """The features of every interaction of two factors that is not in the model, if they are at most so many."""
        places = dict(zip(self.factors, self._places().T, strict=True))
        own = {name: _contrasts(len(levels))[places[name]] for name, levels in self.factors.items()}
        found = []
        for first, second in itertools.combinations(self.factors, 2):
            few = own[first].shape[1] * own[second].shape[1] <= columns
            if few and (first, second) not in self.interactions:
                product = own[first][:, :, None] * own[second][:, None, :]
                found.append(product.reshape(len(product), -1))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; the features follow from it."""
        factors = {name: list(levels) for name, levels in self.factors.items()}
        pairs = [list(pair) for pair in self.interactions]
        return {"kind": self.kind, "variance": self.variance, "factors": factors, "interactions": pairs}

    def __hash__(self) -> int:
        return hash((type(self), self.variance, tuple(self.factors.items()), self.interactions))

    def _levels(self, factor: str) -> tuple[str, ...]:
        if factor not in self.factors:
            raise ValueError(f"factor must be one of {listed([repr(name) for name in self.factors])}, got {factor!r}")
        return self.factors[factor]

    def _places(self) -> Array:
        """The place of the level of every factor, one row per combination."""
        return np.array(list(itertools.product(*(range(len(levels)) for levels in self.factors.values()))))

    def _blocks(self) -> "list[Block]":
        """The contrasts of every factor and of every interaction: an array with one axis per factor, then columns."""
        own = {name: _contrasts(len(levels)) for name, levels in self.factors.items()}
        found: list[Block] = [((name,), block) for name, block in own.items()]
        for pair in self.interactions:
            first, second = (own[name] for name in pair)
            product = np.einsum("ai,bj->abij", first, second)
            found.append((pair, product.reshape(*product.shape[:2], -1)))
        return found

    def _effects(self, blocks: "list[Block]") -> list[Effect]:
        size, start, found = 1 + sum(block.shape[-1] for _, block in blocks), 1, []
        every = dict(zip(self.factors, self._places().T, strict=True))
        for names, block in blocks:
            end = start + block.shape[-1]
            for places in np.ndindex(*block.shape[:-1]):
                contrast = np.zeros(size)
                contrast[start:end] = block[places]
                chosen = [every[name] == place for name, place in zip(names, places, strict=True)]
                arms = np.flatnonzero(np.logical_and.reduce(chosen)).tolist()
                level = BETWEEN.join(self.factors[name][place] for name, place in zip(names, places, strict=True))
                found.append(Effect(joined(names), level, frozen(contrast), tuple(arms)))
            start = end
        return found


def _finite(name: str, value: Any) -> float:
    return number(name, value, -MAX_FLOAT, MAX_FLOAT, "a finite number")


def _one_of(name: str, given: str, known: Mapping[str, Any]) -> None:
    if given not in known:
        raise ValueError(f"{name} must be of {listed([repr(one) for one in known])}, got {given!r}")


def _check_effects_of(name: str, known: Mapping[str, Any]) -> None:
    """Refuse effects of what is not in the model; if that is an interaction, say how to add it."""
    pair = re.split(r"\s+[×x*]\s+", str(name))
    absent = len(pair) == 2 and joined(tuple(pair)) not in known and joined(tuple(pair[::-1])) not in known
    if absent and all(one in known for one in pair):
        raise ValueError(f"effects of {name!r} need that interaction: add ({pair[0]!r}, {pair[1]!r}) to interactions")
    _one_of("effects", name, known)


Block = tuple[tuple[str, ...], Array]


def factorial(
    factors: Mapping[str, Sequence[Level]], interactions: Sequence[Sequence[str]] = (), variance: float = 1.0
) -> Factorial:
    """A factorial design: all combinations of the levels of some factors, and the effects that describe them.

    By default a combination earns the sum of what its levels add ("main effects"). Factors that may strengthen or
    weaken each other are named in ``interactions``; each pair takes (levels - 1) · (levels - 1) more parameters.

    Args:
        factors: The levels of every factor, such as ``{"headline": ["old", "new"], "button": ["buy", "try", "go"]}``.
        interactions: Pairs of factors, such as ``[("headline", "button")]``.
        variance: The known variance of a reward; 0.25 for rewards from 0 to 1, such as clicks.

    Example:
        >>> import fairbai as fb
        >>> design = fb.factorial({"headline": ["old", "new"], "button": ["buy", "try", "go"]})
        >>> design.arms[:2], design.features.shape
        (('old / buy', 'old / try'), (6, 4))
        >>> design.rates({"headline": 0.3}).groups
        (Group(arms=(0, 1, 2), floor=0.3, ceiling=1.0), Group(arms=(3, 4, 5), floor=0.3, ceiling=1.0))
    """
    return Factorial(variance=variance, factors=factors, interactions=interactions)  # type: ignore[arg-type]  # it checks


def _contrasts(levels: int) -> Array:
    """Orthogonal contrasts of so many levels, one per column: sums of 0 and mean squares of 1 (Helmert's)."""
    found = np.zeros((levels, levels - 1))
    for column in range(levels - 1):
        found[: column + 1, column] = 1.0
        found[column + 1, column] = -(column + 1.0)
    scaled: Array = found / np.sqrt(np.mean(found**2, axis=0))
    return scaled


def _parameters(names: tuple[str, ...], block: Array) -> list[str]:
    return [f"{joined(names)} {column + 1}" for column in range(block.shape[-1])]
