"""Normal rewards, of known or unknown variances."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairbai.kernels import families as kernels
from fairbai.problems.checks import Array, Numbers, array, frozen, refuse
from fairbai.problems.families.family import SUM_ROUNDING, Family, checked_variance, shape_of


@dataclass(frozen=True, eq=False)
class Gaussian(Family):
    """Normal rewards with known variance, one for all arms or one per arm, or with unknown ones (``variance=None``).

    With a known variance, proved stops hold for many rewards, normal or not, if it is large enough; so they wait for
    some dozens of rewards, after which a variance four times as large would have been noticed (docs/doubts.md).

    Unknown variances are estimated while the experiment runs. The stopping rules ``Mixture`` and ``TwoSidedMixture``
    are proved for them, for *normal* rewards only: skewed ones are noticed, and the answer is then no longer called
    proved.

    Args:
        variance: The known variance; None (or "unknown", where there is no None) if it is unknown.
        guess: A guess of unknown variances, one for all arms or one per arm, for planning and simulation only: the
            proof does not use it.

    Example:
        >>> Gaussian(variance=[1.0, 4.0]).scales(2)
        array([1., 4.])
        >>> Gaussian(variance=None, guess=4.0).to_dict()
        {'kind': 'gaussian', 'variance': None, 'guess': 4.0}
    """

    variance: float | Numbers | str | None = 1.0
    guess: float | Numbers | None = None
    code: ClassVar[int] = kernels.GAUSSIAN

    def __post_init__(self) -> None:
        if isinstance(self.variance, str) and self.variance == "unknown":  # TOML has no null
            self._set(variance=None)
        for name in ("variance", "guess"):
            given = getattr(self, name)
            if given is not None:
                self._set(**{name: checked_variance(name, given)})
        if self.unknown_variance:
            self._set(code=kernels.GAUSSIAN_UNKNOWN)
        elif self.guess is not None:
            raise ValueError(f"guess is for unknown variances (variance=None), got variance {self.variance!r}")

    @property
    def unknown_variance(self) -> bool:
        """Whether the variances are to be estimated."""
        return self.variance is None

    @property
    def _assumed_variance(self) -> Any:
        known = self.guess if self.variance is None else self.variance
        if known is None:
            raise ValueError(
                "guess must be given to plan, solve or simulate with unknown variances, such as "
                "Gaussian(variance=None, guess=4.0): the proof does not use it"
            )
        return known

    def scales(self, arms: int) -> Array:
        """The variance of every arm, as it is known or guessed; 1 for unknown variances without a guess."""
        name, known = ("variance", self.variance) if self.variance is not None else ("guess", self.guess)
        if isinstance(known, np.ndarray):
            return array(name, known, arms)
        return frozen(np.full(arms, 1.0 if known is None else known))

    def problem(self, means: Array) -> tuple[int, Array, Array]:
        """As for all families; an error if the variances are neither known nor guessed."""
        assert self._assumed_variance is not None
        return super().problem(means)

    def check_squares(self, pulls: Array, sums: Array, squares: Any) -> Array:
        """The sums of squared rewards of a batch, which must be possible for its pulls and sums."""
        checked = array("squares", squares, pulls.size)
        least = sums * sums / np.maximum(pulls, 1.0)
        wrong = (checked < least * (1.0 - SUM_ROUNDING)) | ((pulls == 0.0) & (checked != 0.0))
        refuse("squares", "be possible for these pulls and sums", checked, wrong)
        return np.maximum(checked, least)

    def sample(self, means: Numbers, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Array:
        """Normal rewards, of the variances that are known or guessed."""
        means = np.asarray(means)
        assert self._assumed_variance is not None
        return rng.normal(means, np.sqrt(self.scales(means.size)), shape_of(means, size))

    def __repr__(self) -> str:
        guess = "" if self.guess is None else f", guess={self.guess!r}"
        return f"{type(self).__name__}(variance={self.variance!r}{guess})"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; a guess is left out where there is none."""
        form = super().to_dict()
        return form if self.guess is not None else {name: form[name] for name in form if name != "guess"}
