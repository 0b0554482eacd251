"""Linear arms: features, their coordinates, and means that must be linear in them."""

import math

import numpy as np
import pytest

import fairbai as fb


def test_coordinates_are_whitened_and_span_the_features():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((9, 4)) @ np.diag([1.0, 1e3, 1e-3, 1.0])
    family = fb.Linear(np.hstack([features, features[:, :2]]))
    assert family.dimension == 4
    np.testing.assert_allclose(family.coordinates @ family.coordinates.T / 9.0, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(family.fitted(features[:, 1]), features[:, 1], rtol=1e-9)


@pytest.mark.parametrize(
    "features",
    [
        np.vander(np.linspace(0.0, 1.0, 30), 7),
        np.vander(np.linspace(100.0, 101.0, 30), 3),
        np.hstack([np.ones((24, 1)), np.eye(2)[np.arange(24) % 2], np.eye(3)[np.arange(24) // 8]]),
        np.random.default_rng(1).standard_normal((40, 2)) @ [[1.0, 1.0, 2.0], [0.0, 1e-7, 1.0]],
    ],
    ids=["powers", "far from 0", "dummies", "nearly parallel"],
)
def test_coordinates_span_the_same_as_singular_vectors(features):
    found = fb.Linear(features).coordinates / math.sqrt(len(features))
    left, values, _ = np.linalg.svd(features / np.abs(features).max(axis=0), full_matrices=False)
    rank = int((values > 1e-9 * values[0]).sum())
    assert len(found) == rank
    np.testing.assert_allclose(found @ found.T, np.eye(rank), atol=1e-15)
    onto, precision = left[:, :rank] @ left[:, :rank].T, 1e-15 * values[0] / values[rank - 1]
    np.testing.assert_allclose(found.T @ found, onto, atol=precision)


def test_coordinates_have_the_same_bits_everywhere():
    features = [[1.0, 0.1, 0.3], [1.0, 0.7, 0.2], [1.0, 0.2, 0.9], [1.0, 0.4, 0.4]]
    found = [row[0].hex() for row in fb.Linear(features).coordinates.tolist()]
    assert found == ["0x1.0000000000000p+0", "-0x1.1751a365d41a4p+0", "-0x1.3ea5776cc5f17p+0"]


def test_orthogonal_features_are_only_scaled():
    assert fb.Linear(np.eye(4)).coordinates.tolist() == (2.0 * np.eye(4)).tolist()


def test_it_has_a_json_form_and_is_equal_to_its_copy():
    family = fb.Linear([[1.0, 0.0], [0.0, 1.0]], variance=0.25)
    form = {"kind": "linear", "features": [[1.0, 0.0], [0.0, 1.0]], "variance": 0.25}
    assert family.to_dict() == form
    assert fb.Instance([1.0, 0.0], family=form).family == family


def test_rewards_are_normal():
    rewards = fb.Linear(np.eye(2), variance=4.0).sample([1.0, 0.0], np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(rewards.mean(axis=0), [1.0, 0.0], atol=0.1)
    np.testing.assert_allclose(rewards.var(axis=0), 4.0, atol=0.2)


def test_means_must_be_linear_in_the_features():
    family = fb.Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert fb.Instance([1.0, 2.0, 3.0 + 1e-7], family).best_arm == 2
    with pytest.raises(ValueError, match=r"means must be linear in the features, got .* for arm"):
        fb.Instance([1.0, 2.0, 3.1], family)


def test_the_tolerance_of_the_span_does_not_grow_with_the_baseline():
    family = fb.Linear([[1.0, size] for size in range(5)])
    exact = 1e6 + np.arange(5.0)
    assert fb.Instance(exact, family).best_arm == 4
    with pytest.raises(
        ValueError, match=r"linear in the features, got 1000002.5 for arm 2, .* closest fit is 1000002.1"
    ):
        fb.Instance(exact + np.array([0.0, 0.0, 0.5, 0.0, 0.0]), family)
    design = fb.factorial({"a": ["x", "y"], "b": ["p", "q"], "c": ["s", "t"]})
    means = design.means({"a": {"x": 1.0}}, baseline=1e6)
    means[2] += 0.1
    with pytest.raises(
        ValueError, match=r"do not add up to these means, got 100000.* for '. / . / .', where the closest fit"
    ):
        fb.Instance(means, design)


def test_a_control_is_refused_everywhere():
    family = fb.Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="control is not for linear arms"):
        fb.Instance([1.0, 0.5, 1.5], family, tolerance=0.1, control=0)
    with pytest.raises(ValueError, match="control is not for linear arms"):
        fb.Identifier(3, 0.05, family, tolerance=0.1, control=0)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([1.0, 2.0], "features must be a matrix"),
        ([[1.0, 2.0]], "features must have one row per arm and at least two arms"),
        ([[0.0], [0.0]], "features must not all be 0"),
        ([[1.0], [np.nan]], "features must be finite"),
    ],
)
def test_features_are_checked(features, message):
    with pytest.raises(ValueError, match=message):
        fb.Linear(features)


def test_the_number_of_arms_must_be_that_of_the_features():
    with pytest.raises(ValueError, match=r"features must have one row per arm \(3\), got 2"):
        fb.Instance([1.0, 0.0, 0.0], fb.Linear(np.eye(2)))


def test_the_variance_must_be_positive():
    with pytest.raises(ValueError, match="variance must be positive, got 0"):
        fb.Linear(np.eye(2), variance=0.0)


def test_units_of_the_columns_do_not_matter() -> None:
    plain = np.array([[1.0, 0.0, 3.0], [1.0, 1.0, 5.0], [1.0, 2.0, 1.0], [1.0, 1.0, 0.0]])
    for units in ([1.0, 1e-10, 1.0], [1.0, 1e12, 1e-12], [1e-9, 1e9, 1.0]):
        family = fb.Linear(plain * units)
        assert family.dimension == 3
        means = plain @ [0.2, 0.5, -0.1]
        np.testing.assert_allclose(family.fitted(means), means)


def test_rows_that_differ_by_rounding_are_refused() -> None:
    with pytest.raises(ValueError, match="some rows differ by no more than rounding"):
        fb.Linear([[1.0, 0.3], [1.0, 0.1 + 0.2], [1.0, 2.0]])
    assert fb.Linear([[1.0, 0.3], [1.0, 0.3], [1.0, 2.0]]).dimension == 2


def test_what_floors_of_levels_forgo() -> None:
    design = fb.factorial({"h": ["a", "b"], "p": ["x", "y"]})
    means = np.array([3.0, 2.0, 1.0, 0.0])
    assert fb.Instance(means, design).fair_gap == 0.0
    assert fb.Instance(means, design, design.rates({"h": 0.5})).fair_gap == pytest.approx(1.0)
    assert fb.Instance(means, design, design.rates({"h": 0.5, "p": 0.25})).fair_gap == pytest.approx(1.25)
