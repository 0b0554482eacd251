"""The scores of the stopping rules, against the formulas written out once more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import beta, gamma

import fairbai as fb
from fairbai.kernels.state import MEAN, OBSERVED, PENALTY, SCALE, SEEN, SUM, UNSEEN
from fairbai.kernels.stopping.scores import MIXTURE, evidence, penalty
from fairbai.kernels.stopping.tilts import one_sided, tie_evidence
from fairbai.planning.expected import trials_until_stop
from fairbai.stopping import Heuristic, KaufmannKoolen, Mixture, PairwiseGaussian, StoppingRule, TwoSidedMixture
from tests.cases import proved_families
from tests.states import empty_scalars, empty_state
from tests.stopping.configs import config, one_arm
from tests.stopping.ties import STEPS, WEIGHTS, Arm, Ties

KAPPA, PRIOR_MEAN = 3.0, 0.7
MIXTURES = [Mixture(KAPPA, PRIOR_MEAN), TwoSidedMixture(KAPPA, PRIOR_MEAN)]
RULES = [Heuristic(), *MIXTURES, PairwiseGaussian(), KaufmannKoolen(), KaufmannKoolen(pairwise=False)]
FAMILIES = proved_families(1.0, [0.5, 2.0, 1.0, 3.0])

PAIRS = [(family, rule) for family in FAMILIES for rule in RULES if rule.proved(family) or rule == Heuristic()]

rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}{rule.code}")
pairs = pytest.mark.parametrize(("family", "rule"), PAIRS, ids=[f"{f.kind}-{r.kind}{r.code}" for f, r in PAIRS])


def xlogy(x: float, y: float) -> float:
    return 0.0 if x == 0.0 else x * math.log(y)


def divergence(kind: str, mean: float, other: float, variance: float) -> float:
    if kind == "gaussian":
        return (mean - other) ** 2 / (2.0 * variance)
    if kind in ("bernoulli", "bounded"):
        return xlogy(mean, mean / other) + xlogy(1.0 - mean, (1.0 - mean) / (1.0 - other))
    if kind == "poisson":
        return xlogy(mean, mean / other) + other - mean
    return mean / other - 1.0 - math.log(mean / other)


SCALES = [(PRIOR_MEAN * 4.0**j, 2.0 / (3.0 * (abs(j) + 1) * (abs(j) + 2))) for j in range(-25, 26)]
"""The sizes of the mean that the prior of a Poisson or exponential arm is mixed of, and what they weigh."""


def regret(kind: str, count: int, mean: float) -> float:
    """The log-likelihood of an arm at its own mean less that of its mixture over the prior, both by formula."""
    if kind in ("bernoulli", "bounded"):
        return regret_at(kind, count, mean, PRIOR_MEAN)
    parts = [math.log(weight) - regret_at(kind, count, mean, scale) for scale, weight in SCALES]
    return -float(logsumexp(parts))


def regret_at(kind: str, count: int, mean: float, m: float) -> float:
    """The same for the prior of one size of the mean."""
    n, total = count, count * mean
    if kind in ("bernoulli", "bounded"):
        own = xlogy(total, mean) + xlogy(n - total, 1.0 - mean)
        return own - betaln(total + 0.5, n - total + 0.5) + betaln(0.5, 0.5)
    if kind == "poisson":  # Gamma(1/2, 1/(2m)) on the mean
        shape, rate = 0.5, 0.5 / m
        own = xlogy(total, mean) - total
    else:  # Gamma(1, m) on 1 / mean
        shape, rate = 1.0, m
        own = -n * math.log(mean) - n
        n, total = total, n  # λ^N e^(-λ S): the number of rewards and their sum change places
    posterior = gammaln(shape + total) - (shape + total) * math.log(rate + n)
    return float(own - posterior + gammaln(shape) - shape * math.log(rate))


def tilted(kind: str, mean: float, tilt: float, variance: float) -> float:
    """The mean of the arm whose distribution is that of an arm with this mean, tilted."""
    if kind == "gaussian":
        return mean + tilt * variance
    if kind in ("bernoulli", "bounded"):
        odds = mean / (1.0 - mean) * math.exp(tilt)
        return odds / (1.0 + odds)
    return mean * math.exp(tilt)


def log_martingale(kind: str, side: int, count: int, mean: float, variance: float, truth: float) -> float:
    """The likelihood averaged over the tilts of the arm with mean ``truth``, over that of this arm, in logarithms."""
    typical = {"gaussian": variance, "bernoulli": 0.25, "bounded": 0.25, "poisson": PRIOR_MEAN, "exponential": 1.0}[
        kind
    ]
    values = []
    for step in STEPS:
        other = tilted(kind, truth, side * 2.0 ** (step / 2) / math.sqrt(KAPPA * typical), variance)
        gain = divergence(kind, mean, truth, variance) - divergence(kind, mean, other, variance)
        values.append(count * gain)
    return float(logsumexp(values, b=WEIGHTS))


class Sample:
    """Random counts and means of four arms, all of which have rewards."""

    def __init__(self, family: fb.Gaussian, rng: np.random.Generator) -> None:
        self.family, arms = family, 4
        self.counts = rng.integers(1, 200, arms)
        self.variances = family.scales(arms)
        centre = rng.normal(size=arms) if family.kind == "gaussian" else rng.uniform(0.05, 0.95, arms)
        self.means = centre
        if family.kind in ("bernoulli", "poisson"):
            self.means = np.round(centre * self.counts) / self.counts  # a count over the number of rewards, 0 and 1 too

    def glr(self, a: int, b: int) -> float:
        """Twice the best likelihood with equal means against the best without, in logarithms."""
        n, m = self.counts[a], self.counts[b]
        if self.family.kind == "gaussian":
            n, m = n / self.variances[a], m / self.variances[b]
        middle = (n * self.means[a] + m * self.means[b]) / (n + m)
        if middle == self.means[a]:
            return 0.0
        return sum(
            self.counts[i] * divergence(self.family.kind, self.means[i], middle, self.variances[i]) for i in (a, b)
        )

    def score(self, rule: StoppingRule, a: int, b: int) -> float:
        """What is compared with the level, for the pair of the best arm b and arm a."""
        n, m, glr = self.counts[a], self.counts[b], self.glr(a, b)
        if isinstance(rule, Heuristic):
            return glr - math.log(1.0 + math.log(self.counts.sum()))
        if isinstance(rule, Mixture):
            two_sided = self.score(TwoSidedMixture(KAPPA, PRIOR_MEAN), a, b)
            return max(math.log(0.95) + self.least(rule, a, b), math.log(0.05) + two_sided)
        if isinstance(rule, TwoSidedMixture) and self.family.kind != "gaussian":
            return glr - sum(regret(self.family.kind, self.counts[i], self.means[i]) for i in (a, b))
        if isinstance(rule, TwoSidedMixture):
            spread = sum(self.variances[i] * (1 / self.counts[i] + KAPPA / self.counts[i] ** 2) for i in (a, b))
            statistic = (self.means[b] - self.means[a]) ** 2 / (2.0 * spread)
            return statistic - 0.5 * math.log(1.0 + n / KAPPA) - 0.5 * math.log(1.0 + m / KAPPA)
        if isinstance(rule, PairwiseGaussian):
            return glr - 2.0 * math.log(4.0 + math.log(n)) - 2.0 * math.log(4.0 + math.log(m))
        parts = [3.0 * math.log(1.0 + math.log(count)) for count in self.counts]
        return glr - (parts[a] + parts[b] if rule.pairwise else sum(parts))  # type: ignore[attr-defined]

    def product(self, a: int, b: int, theta_a: float, theta_b: float, alpha: float) -> float:
        """The product of the two one-sided martingales at these means, in logarithms; α (K - 1) is a part of one."""
        kind = self.family.kind
        up = log_martingale(kind, 1, self.counts[b], self.means[b], self.variances[b], theta_b)
        up = up if alpha == 0.0 else float(np.logaddexp(math.log1p(-alpha) + up, math.log(3.0 * alpha)))
        return up + log_martingale(kind, -1, self.counts[a], self.means[a], self.variances[a], theta_a)

    def least(self, rule: Mixture, a: int, b: int) -> float:
        """The least value over all ties; -inf where the means are equal."""
        if self.means[a] == self.means[b]:
            return -math.inf
        arms = [Arm(self.counts[i], self.means[i], self.variances[i]) for i in (b, a)]
        return Ties(self.family.kind, *arms, rule.kappa, rule.prior_mean, rule.parameters(4)[2], 4).least()

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """What the kernels take."""
        state, scalars = empty_state(4), empty_scalars()
        state[OBSERVED], state[MEAN], state[SCALE] = self.counts, self.means, self.variances
        state[SUM] = self.counts * self.means
        scalars[SEEN] = self.counts.sum()
        return state, scalars

    def found(self, rule: StoppingRule, level: float = -math.inf) -> tuple[float, int, float, float, float]:
        """What the kernel says."""
        state, scalars = self.arrays()
        code = self.family.code
        for a, (count, mean) in enumerate(zip(self.counts, self.means, strict=True)):
            state[PENALTY, a] = penalty(code, rule.code, *rule.parameters(4)[:2], float(count), count * mean)
        return evidence(config(code, rule.code, *rule.parameters(4)), state, scalars, level)


@pairs
def test_score_is_the_formula(family: fb.Gaussian, rule: StoppingRule) -> None:
    rng = np.random.default_rng(11)
    close: dict[str, float] = {"rel": 1e-9, "abs": 2e-6 if isinstance(rule, Mixture) else 1e-11}
    for _ in range(8 if isinstance(rule, Mixture) else 100):
        sample = Sample(family, rng)
        best = int(np.argmax(sample.means))
        others = [a for a in range(4) if a != best]
        scores = [sample.score(rule, a, best) for a in others]
        score, worst, glr, factor, cost = sample.found(rule)
        assert score == pytest.approx(min(scores), **close)
        assert glr == pytest.approx(sample.glr(worst, best), rel=1e-9, abs=1e-12)
        assert score == pytest.approx(factor * glr - cost, rel=1e-12, abs=1e-12)
        assert sample.score(rule, worst, best) == pytest.approx(min(scores), **close)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
def test_mixture_is_below_the_martingales_of_all_means_with_which_the_answer_is_wrong(
    family: fb.Gaussian, alpha: float
) -> None:
    """The step of the proof that needs the minimisation, at pairs of means that are no ties too."""
    rng = np.random.default_rng(14)
    for _ in range(5):
        sample = Sample(family, rng)
        state, _ = sample.arrays()
        b, a = (int(arm) for arm in np.argsort(-sample.means)[:2])
        given = config(family.code, MIXTURE, KAPPA, PRIOR_MEAN, alpha, 3.0 * alpha)
        found = tie_evidence(given, state, b, a, (1.0, 0.0), -math.inf)
        for _ in range(40):
            low, high = np.sort(rng.normal(0.0, 1.5, 2) if family.kind == "gaussian" else rng.uniform(0.01, 0.99, 2))
            assert found <= sample.product(a, b, theta_a=high, theta_b=low, alpha=alpha) + 1e-9


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
def test_mixture_answers_whether_the_level_is_reached(family: fb.Gaussian) -> None:
    """Below the level any number below it will do; from the level on the score is exact."""
    rng, rule = np.random.default_rng(15), MIXTURES[0]
    for _ in range(20):
        sample = Sample(family, rng)
        exact = sample.found(rule)
        for level in (exact[0] - 1.0, exact[0]):
            assert sample.found(rule, level) == pytest.approx(exact, abs=2e-6)
        for level in (exact[0] + 1e-3, exact[0] + 5.0):
            assert sample.found(rule, level)[0] < level


OUTCOMES = {  # of one reward of an arm with mean 0.3: where it may lie, and its density
    "gaussian": ([(-15.0, 15.0)], lambda x, v: math.exp(-((x - 0.3) ** 2) / (2.0 * v)) / math.sqrt(2.0 * math.pi * v)),
    "bernoulli": ([0.0, 1.0], lambda x, v: 0.3 if x == 1.0 else 0.7),
    "bounded": ([0.0, 1.0], lambda x, v: 0.3 if x == 1.0 else 0.7),
    "poisson": (list(np.arange(60.0)), lambda x, v: math.exp(x * math.log(0.3) - 0.3 - math.lgamma(x + 1.0))),
    "exponential": ([(0.0, 60.0)], lambda x, v: math.exp(-x / 0.3) / 0.3),
}


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("family", FAMILIES[:1] + FAMILIES[2:], ids=lambda family: family.kind)
def test_martingale_has_mean_one(family: fb.Gaussian, side: float) -> None:
    """After one reward, under the true mean; mild tilts, so that the integral is easy."""
    where, weight = OUTCOMES[family.kind]
    truth = 1.0 / 0.3 if family.kind == "exponential" else 0.3
    given = config(family.code, MIXTURE, 2000.0, 1.0)

    def weighted(x: float) -> float:
        return weight(x, 1.0) * math.exp(one_sided(given, one_arm(1.0, x, 1.0), 0, side, truth)[0])

    if isinstance(where[0], tuple):
        average = quad(weighted, *where[0], epsabs=1e-10, limit=200)[0]
    else:
        average = sum(weighted(x) for x in where)
    assert average == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
def test_slope_and_curvature_are_those_of_the_martingale(family: fb.Gaussian) -> None:
    given, arm = config(family.code, MIXTURE, KAPPA, 1.0), one_arm(40.0, 0.4, 1.3)
    for side, tie in ((1.0, 0.2), (-1.0, 0.7), (1.0, 0.9)):
        values = [one_sided(given, arm, 0, side, x) for x in (tie - 1e-4, tie, tie + 1e-4)]
        assert values[1][1] == pytest.approx((values[2][0] - values[0][0]) / 2e-4, rel=1e-4)
        assert values[1][2] == pytest.approx((values[2][1] - values[0][1]) / 2e-4, rel=1e-4)
        assert values[1][2] >= 0.0


@pytest.mark.parametrize("kappa", [1e-300, 1e-6, 1e6, 1e300])
@pytest.mark.parametrize("family", [*FAMILIES, fb.Gaussian(1e-12), fb.Gaussian(1e12)], ids=lambda family: family.kind)
def test_parameters_that_are_far_off_give_a_number(family: fb.Gaussian, kappa: float) -> None:
    sample = Sample(family, np.random.default_rng(16))
    for rule in (Mixture(kappa, 1e-250), Mixture(kappa, 1e250)):
        score, _, glr, _, _ = sample.found(rule)
        assert math.isfinite(score)
        assert score <= glr + math.log1p(rule.parameters(4)[2] * 2.0)


MIXED = {  # the quantiles of the prior of a mean of size m, and the likelihood of n rewards of sum s
    "bernoulli": (lambda u, m: beta.ppf(u, 0.5, 0.5), lambda θ, n, s: θ**s * (1.0 - θ) ** (n - s)),
    "bounded": (lambda u, m: beta.ppf(u, 0.5, 0.5), lambda θ, n, s: θ**s * (1.0 - θ) ** (n - s)),
    "poisson": (lambda u, m: gamma.ppf(u, 0.5, scale=2.0 * m), lambda θ, n, s: θ**s * math.exp(-n * θ)),
    "exponential": (lambda u, m: m / gamma.ppf(u, 1.0), lambda θ, n, s: θ**-n * math.exp(-s / θ)),
}


@pytest.mark.parametrize(("count", "mean"), [(1, 1.0), (4, 0.5), (10, 0.0), (10, 1.0), (30, 0.2)])
@pytest.mark.parametrize("family", FAMILIES[2:], ids=lambda family: family.kind)
def test_regret_is_the_likelihood_against_its_average_over_the_prior(
    family: fb.Gaussian, count: int, mean: float
) -> None:
    quantile, likelihood = MIXED[family.kind]
    mean += 0.1 if family.kind == "exponential" else 0.0
    total = count * mean
    mixed = quad(
        lambda u: likelihood(quantile(u, PRIOR_MEAN), count, total), 0.0, 1.0, epsrel=1e-10, epsabs=0.0, limit=500
    )[0]
    by_formula = regret_at(family.kind, count, mean, PRIOR_MEAN)
    assert by_formula == pytest.approx(math.log(likelihood(mean, count, total) / mixed), rel=1e-6)
    found = penalty(family.code, TwoSidedMixture().code, KAPPA, PRIOR_MEAN, float(count), total)
    assert found == pytest.approx(regret(family.kind, count, mean), rel=1e-9)
    assert 0.0 < found <= by_formula + math.log(3.0)


@pytest.mark.parametrize("family", [fb.Poisson(), fb.Exponential()], ids=lambda family: family.kind)
@pytest.mark.parametrize("mean", [1e-6, 1.0, 1e6])
def test_a_prior_mean_that_is_far_off_costs_a_few_nats(family: fb.Poisson, mean: float) -> None:
    count = 10_000_000.0 if mean < 1.0 else 1000.0
    near, far = (penalty(family.code, TwoSidedMixture().code, KAPPA, size, count, count * mean) for size in (mean, 1.0))
    assert far <= near + 6.0


@pytest.mark.parametrize("total", [1e5, 1e9, 1e12, 1e15])
def test_poisson_regret_keeps_its_digits(total: float) -> None:
    """About ½ log of the total, whatever its size: 0.5 log(2 N) + log 3 and a little for one arm of mean 1."""
    found = penalty(fb.Poisson().code, TwoSidedMixture().code, KAPPA, 1.0, total, total)
    assert found == pytest.approx(0.5 * math.log(total) + 0.9, abs=0.6)


@pytest.mark.parametrize("variance", [1.0, [0.5, 2.0, 1.0, 3.0]])
def test_glr_is_t_over_the_time_at_the_empirical_shares(variance: float | list[float]) -> None:
    """T(w) = 2 max_a (σ_a²/w_a + σ_b²/w_b) / Δ_a², at w = N/t."""
    rng = np.random.default_rng(12)
    for _ in range(100):
        sample = Sample(fb.Gaussian(variance), rng)
        best, total = int(np.argmax(sample.means)), sample.counts.sum()
        noise = sample.variances / (sample.counts / total)
        others = np.arange(4) != best
        time = np.max(2.0 * (noise + noise[best])[others] / (sample.means[best] - sample.means)[others] ** 2)
        assert sample.found(Heuristic())[2] == pytest.approx(total / time, rel=1e-12)


@rules
def test_there_is_no_evidence_before_every_arm_has_a_reward(rule: StoppingRule) -> None:
    state, scalars = empty_state(3), empty_scalars()
    state[OBSERVED], state[MEAN], state[SCALE] = [100, 100, 0], [1.0, 0.0, 0.0], 1.0
    scalars[SEEN], scalars[UNSEEN] = 200, 1
    assert evidence(config(fb.Gaussian().code, rule.code, KAPPA, PRIOR_MEAN), state, scalars, 0.0)[0] == -math.inf


@pairs
def test_equal_means_are_no_evidence(family: fb.Gaussian, rule: StoppingRule) -> None:
    sample = Sample(family, np.random.default_rng(13))
    sample.means = np.full(4, 0.5)
    score, _, glr, _, cost = sample.found(rule)
    assert glr == 0.0
    assert score == -cost <= 0.0


@rules
def test_identifier_decides_when_the_ratio_reaches_the_threshold(rule: StoppingRule) -> None:
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(), stopping=rule)
    while not ident.decided:
        before = ident.status()
        assert before.glr < before.threshold
        arm = ident.ask()
        ident.tell(arm, [0.0, 2.0, 1.0][arm])
    after = ident.status()
    assert after.glr >= after.threshold * (1.0 - 1e-12)
    assert ident.recommendation == 1
    assert after.observed.sum() < 2000


def test_rules_from_the_quickest_to_the_slowest() -> None:
    """On the same rewards."""
    trials = []
    for rule in RULES:
        ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(), stopping=rule, sampling=fb.sampling.TrackAndStop())
        while not ident.decided:
            arm = ident.ask()
            ident.tell(arm, [0.0, 2.0, 1.0][arm])
        trials.append(ident.status().observed.sum())
    assert trials == sorted(trials), trials
    expected = trials_until_stop(fb.Instance([0.0, 2.0, 1.0]), fb.stopping.Heuristic(), 0.1)
    assert trials[0] == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(("best", "other"), [(1.0, 0.5), (0.5, 0.0), (1.0, 0.0)])
def test_a_mean_at_the_edge_of_the_domain(best: float, other: float) -> None:
    """An arm that has only failed, or only succeeded, against the minimum over a fine grid of ties."""
    state = empty_state(2)
    state[OBSERVED], state[MEAN], state[SCALE] = 40.0, [best, other], 1.0
    given = config(fb.Bernoulli().code, MIXTURE, KAPPA, PRIOR_MEAN)
    found = tie_evidence(given, state, 0, 1, (1.0, 0.0), -math.inf)
    ties = np.linspace(max(other, 1e-6), min(best, 1.0 - 1e-6), 2001)

    def both(tie: float) -> float:
        return one_sided(given, state, 0, 1.0, tie)[0] + one_sided(given, state, 1, -1.0, tie)[0]

    assert found == pytest.approx(min(both(float(tie)) for tie in ties), abs=1e-3)
