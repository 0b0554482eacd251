"""Structured arms: every arm has features, and its mean is a linear function of them."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, array, frozen, number, refuse
from fairbai.problems.families import MAX_VALUE, Family, Gaussian

SPAN_TOLERANCE = 1e-6  # by which means may miss the span of the features, relative to their range
ROUNDING = 1e-12  # the same relative to the largest mean: computing the fit takes so much
RANK_TOLERANCE = 1e-9  # what is left of a column without the part along others, relatively, that is taken for 0
DIGITS = 9  # of coordinates, to which arms must differ


@dataclass(frozen=True, eq=False)
class Linear(Family):
    """Arms whose means are linear in known features, with normal rewards of one known variance.

    Arm i has the mean x_i'θ, where x_i is its row of ``features`` and θ is unknown: rewards of one arm tell about all
    others. There may be far more arms than features. Arms with the same features have the same mean, whatever θ is:
    they are no rivals of each other, and any of them is as right an answer.

    The proof of ``fb.stopping.LinearMixture`` needs rewards whose noise is sub-Gaussian with this variance: rewards in
    [0, 1] are, with ``variance=0.25``. It does need the linear model; see docs/linear.md.

    Args:
        features: One row per arm. Columns may be linearly dependent: then only their span counts.
        variance: The known variance of every reward.

    Attributes:
        dimension: How many parameters there are: the rank of the features.
        coordinates: The features in other coordinates, one column per arm and ``dimension`` rows, such that the average
            of x x' over the arms is the identity. All the library computes with these, so that nothing depends on
            the unit or on the choice of the features, only on their span.

    Example:
        >>> family = Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> family.dimension
        2
    """

    features: Any  # a matrix; checked below
    variance: float = 1.0
    structured: ClassVar[bool] = True
    code: ClassVar[int] = kernels.GAUSSIAN
    _model: ClassVar[str] = "the means are linear in the features"

    def __post_init__(self) -> None:
        features = array("features", self.features, dimensions=2)
        if features.shape[0] < 2 or features.shape[1] < 1:
            raise ValueError(f"features must have one row per arm and at least two arms, got shape {features.shape}")
        refuse("features", f"be less than {MAX_VALUE:g} in size", features, np.abs(features) >= MAX_VALUE)
        variance = number("variance", self.variance, 1.0 / MAX_VALUE, MAX_VALUE, "positive")
        self._set(features=features, variance=variance)
        self._set(coordinates=frozen(_coordinates(features)))

    coordinates: ClassVar[Array]  # set above, from the features

    @property
    def dimension(self) -> int:
        """How many parameters there are."""
        return len(self.coordinates)

    @property
    def condition(self) -> str:
        """What the proofs need besides: nothing if there are as many parameters as arms."""
        return "" if self.dimension == len(self.features) else self._model

    def scales(self, arms: int) -> Array:
        """The variance, for every arm."""
        self.check_arms(arms)
        return frozen(np.full(arms, self.variance))

    def check_arms(self, arms: int) -> None:
        """Refuse another number of arms than there are features for."""
        if arms != len(self.features):
            raise ValueError(f"features must have one row per arm ({arms}), got {len(self.features)}")

    def check_means(self, means: Any, dimensions: int = 1) -> Array:
        """The means, which must be linear in the features."""
        checked = super().check_means(means, dimensions)
        self.check_arms(checked.shape[-1])
        fitted = self.fitted(checked)
        off = np.abs(checked - fitted)
        allowed = SPAN_TOLERANCE * np.ptp(checked, axis=-1) + ROUNDING * np.abs(checked).max(axis=-1)
        if (off > allowed[..., None]).any():
            where = np.unravel_index(int(off.argmax()), off.shape)
            raise ValueError(self._misfit(float(checked[where]), float(fitted[where]), int(where[-1])))
        return checked

    def _misfit(self, mean: float, fitted: float, arm: int) -> str:
        """Why means are refused that are off the span of the features, by the arm that is furthest off."""
        return f"means must be linear in the features, got {mean} for arm {arm}, where the closest fit is {fitted:.9g}"

    def fitted(self, means: Array) -> Array:
        """The means in the span of the features that are closest to these (on the last axis)."""
        fitted: Array = means @ self.coordinates.T @ self.coordinates / len(self.features)
        return fitted

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Normal rewards."""
        return Gaussian(self.variance).sample(means, rng, size)


def _coordinates(features: Array) -> Array:
    """An orthogonal basis of the span of the columns, times the root of the number of arms; one row per parameter."""
    arms = len(features)
    gram = features.T @ features
    if gram[0, 0] > 0.0 and np.allclose(gram, gram[0, 0] * np.eye(len(gram)), rtol=0.0, atol=1e-12 * gram[0, 0]):
        size = float(_products(features.T[:1], features[:, 0])[0])
        return np.ascontiguousarray(features.T * math.sqrt(arms / size))  # so that plain features stay plain
    coordinates = _basis(features) * math.sqrt(arms)
    if len(np.unique(coordinates.round(DIGITS), axis=1).T) < len(np.unique(features, axis=0)):
        raise ValueError(
            "features must be the same for two arms or tell them apart, but some rows differ by no more than rounding: "
            "subtract from every column what its entries have in common"
        )
    return coordinates


def _basis(features: Array) -> Array:
    """An orthonormal basis of the span of the columns, one row each: Gram and Schmidt's, the longest column first.

    Every vector is made orthogonal to those before it twice, which is enough. All sums are correctly rounded, so that
    the result has the same bits on every machine, which that of a singular value decomposition does not.
    """
    sizes = np.abs(features).max(axis=0)
    left = np.ascontiguousarray((features / np.where(sizes > 0.0, sizes, 1.0)).T)
    squares = np.array([math.fsum(row) for row in (left * left).tolist()])
    least = RANK_TOLERANCE * math.sqrt(math.fsum(squares.tolist()))
    if least == 0.0:
        raise ValueError("features must not all be 0")
    basis = np.empty((0, left.shape[1]))
    while len(left) and math.sqrt(squares.max()) > least:
        longest = int(squares.argmax())
        vector = left[longest] / math.sqrt(squares[longest])
        for part, other in zip(_products(basis, vector).tolist(), basis, strict=True):
            vector = vector - part * other
        vector /= math.sqrt(_products(vector[None], vector)[0])
        basis = np.vstack([basis, vector])
        left = np.delete(left, longest, axis=0)
        left -= _products(left, vector)[:, None] * vector
        squares = np.array([math.fsum(row) for row in (left * left).tolist()])
    return basis


def _products(rows: Array, vector: Array) -> Array:
    """The inner products of the rows with a vector, correctly rounded up to the products of their entries."""
    return np.array([math.fsum(row) for row in (rows * vector).tolist()])
