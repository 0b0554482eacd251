"""The random stream: the published answers of Philox4x32-10, and uniforms that behave like uniforms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from fairbai.kernels.streams.philox import philox, two_uniforms
from tests.processes import run_python

KNOWN = {  # counter, key, answer: the test vectors of Random123
    "zeros": ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "ones": ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "pi": ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
}
LARGEST = 2**63 - 1


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name: str) -> None:
    counter, key, answer = map(words, KNOWN[name])
    found = philox(*(np.uint64(word) for word in counter + key))
    assert [int(word) for word in found] == answer


def test_round_run_and_seed_are_counter_and_key() -> None:
    """Two words each, the low one first; a uniform is made of the 52 leading bits of two words of the answer."""
    seed, run, number = 0x299F31D0_A4093822, 0x03707344_13198A2E, 0x05A308D3_243F6A88
    words = [part for value in (number, run, seed) for part in (value & 0xFFFFFFFF, value >> 32)]
    w0, w1, w2, w3 = (int(word) for word in philox(*(np.uint64(word) for word in words)))
    expected = [(((high << 32 | low) >> 12) + 0.5) / 2**52 for high, low in ((w0, w1), (w2, w3))]
    assert list(two_uniforms(seed, run, number)) == expected


def uniforms(seeds: range, runs: range, numbers: range) -> np.ndarray:
    """One row a (seed, run), one column a round, and the two uniforms last."""
    draws = [[two_uniforms(seed, run, number) for number in numbers] for seed in seeds for run in runs]
    return np.array(draws)


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    return uniforms(range(7, 8), range(20), range(500))


def test_uniforms_lie_strictly_inside(draws: np.ndarray) -> None:
    assert draws.min() > 0.0
    assert draws.max() < 1.0
    assert len(np.unique(draws)) == draws.size


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_moments_are_those_of_a_uniform(draws: np.ndarray, power: int) -> None:
    """Within 4 standard errors, for each of the two uniforms."""
    expected, variance = 1.0 / (power + 1), 1.0 / (2 * power + 1) - 1.0 / (power + 1) ** 2
    error = np.sqrt(variance / draws[..., 0].size)
    assert np.abs((draws**power).mean(axis=(0, 1)) - expected).max() < 4.0 * error


@pytest.mark.parametrize("which", [0, 1])
def test_distribution_is_uniform(draws: np.ndarray, which: int) -> None:
    """Kolmogorov-Smirnov, at a level of one in ten thousand."""
    assert kstest(draws[..., which].ravel(), "uniform").pvalue > 1e-4


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """In standard errors."""
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1] * np.sqrt(one.size))


def test_rounds_are_independent(draws: np.ndarray) -> None:
    """Correlations of a round with those after it, of either uniform with either: within 4 standard errors."""
    for lag in (1, 2, 3, 10):
        for one, other in ((0, 0), (0, 1), (1, 0), (1, 1)):
            assert abs(correlation(draws[:, lag:, one], draws[:, :-lag, other])) < 4.0


def test_the_two_uniforms_are_independent(draws: np.ndarray) -> None:
    assert abs(correlation(draws[..., 0], draws[..., 1])) < 4.0


def test_runs_are_independent(draws: np.ndarray) -> None:
    """Correlations of neighbouring runs, and of all pairs of runs (500 rounds each): within 4 standard errors."""
    assert abs(correlation(draws[1:, :, 0], draws[:-1, :, 0])) < 4.0
    matrix = np.corrcoef(draws[..., 0])[np.triu_indices(len(draws), 1)]
    assert abs(np.sum(matrix)) * np.sqrt(500 / matrix.size) < 4.0


def test_seeds_are_independent() -> None:
    """Seeds that differ in one bit of either half: correlation within 4 standard errors."""
    pairs = [(1, 0), (3, 2), (2**40, 0), (LARGEST, LARGEST - 1)]
    for one, other in pairs:
        first, second = (uniforms(range(seed, seed + 1), range(1), range(1000))[..., 0] for seed in (one, other))
        assert abs(correlation(first, second)) < 4.0


@pytest.mark.parametrize("large", [2**31, 2**32, 2**53, LARGEST])
def test_large_numbers_do_not_wrap_around(large: int) -> None:
    near = {two_uniforms(*(large if place == i else 5 for i in range(3))) for place in range(3)}
    less = {two_uniforms(*(large - 1 if place == i else 5 for i in range(3))) for place in range(3)}
    small = {two_uniforms(*(large % 2**31 if place == i else 5 for i in range(3))) for place in range(3)}
    assert len(near | less | small) == 9


BITS = """
from fairbai.kernels.streams.philox import two_uniforms
for seed, run, number in [(0, 0, 0), (7, 3, 11), (2**63 - 1, 2**40, 2**33)]:
    print(*map(float.hex, map(float, two_uniforms(seed, run, number))))
"""


def test_same_bits_without_the_jit() -> None:
    printed = [run_python("-c", BITS, NUMBA_DISABLE_JIT=disabled) for disabled in ("0", "1")]
    assert printed[0] == printed[1]
    assert len(printed[0].split()) == 6
