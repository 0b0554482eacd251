"""Units that a node assigns by a hash, in Python and in JavaScript."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairbai.client import Tally, assign
from fairbai.client.edge import siphash, uniform
from tests.client.units import EDGE_JS, SEED, VECTORS, many_units, policy
from tests.debian import program

NODE = """
import {{ assign, siphash, Tally, uniform }} from {module};
import {{ webcrypto }} from "node:crypto";
import {{ readFileSync }} from "node:fs";
globalThis.crypto ??= webcrypto; // before Node 19
const {{ policy, units, vectors, wrong }} = JSON.parse(readFileSync({data}));
const thrown = (call) => {{ try {{ call(); return ""; }} catch (error) {{ return error.message; }} }};
const tally = new Tally(policy, 10, 0.25);
Object.defineProperty(Object.getPrototypeOf(crypto), "randomUUID", {{ value: undefined }}); // as over plain HTTP
const told = {story}.map(([call, ...given]) => tally[call](...given));
console.log(JSON.stringify({{
  arms: units.map((unit) => assign(policy, unit)),
  vectors: vectors.map((unit) => uniform(policy.seed, unit)),
  published: siphash([...Array(16).keys()], [...Array(15).keys()]).toString(16),
  refused: [
    ...["", "\\ud800", 7].map((unit) => thrown(() => assign(policy, unit))),
    ...wrong.map((probabilities) => thrown(() => assign({{ ...policy, probabilities }}, "a"))),
    thrown(() => tally.tell("a", NaN)), thrown(() => new Tally(policy, 0)), thrown(() => new Tally(policy)),
    thrown(() => new Tally(policy, 1, NaN)),
  ],
  told,
  open: tally.open,
}}));
"""


def test_the_published_vector() -> None:
    """Of the paper on SipHash, appendix A."""
    assert siphash(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


@pytest.mark.parametrize("unit", VECTORS)
def test_vectors(unit: str) -> None:
    assert uniform(SEED, unit) == VECTORS[unit]


def test_the_arm_is_the_first_whose_sum_exceeds_u() -> None:
    u = VECTORS["a"]
    assert assign(policy({"x": u, "y": 1 - u}), "a") == "y"
    assert assign(policy({"x": math.nextafter(u, 1), "y": 1 - u}), "a") == "x"
    for probabilities in ({"x": 0.0, "y": 1.0, "z": 0.0}, {"y": 1.0 - 1e-9}, {"x": 0.0, "y": 1.0 + 1e-9}):
        assert {assign(policy(probabilities), unit) for unit in VECTORS} == {"y"}


@pytest.mark.parametrize("unit", ["", 7, None, "\ud800"])
def test_what_is_no_unit(unit: Any) -> None:
    with pytest.raises(ValueError, match="unit must be text that"):
        assign(policy({"x": 0.5, "y": 0.5}), unit)


@pytest.mark.parametrize("wrong", [{"x": 0.5, "y": 0.4}, {"x": 1.5, "y": -0.5}, {"x": math.nan, "y": 0.5}])
def test_what_is_no_policy(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="probabilities must be at least 0 and sum to 1"):
        assign(policy(wrong), "a")


def counted(policies: list[dict[str, Any]], units: list[str]) -> Any:
    """How many units have each combination of arms under these policies."""
    places = [{arm: place for place, arm in enumerate(one["arms"])} for one in policies]
    table = np.zeros([len(place) for place in places])
    for unit in units:
        table[tuple(place[assign(one, unit)] for place, one in zip(places, policies, strict=True))] += 1
    return table


def test_shares_are_the_probabilities_and_seeds_are_independent() -> None:
    """Chi-square tests; of sequential names, and of seeds that differ in a single bit."""
    units = [f"user-{number}" for number in range(4000)]
    shares = {"a": 0.55, "b": 0.25, "c": 0.15, "d": 0.05}
    seeds = [SEED, SEED[:-1] + "e", f"{random.Random(1).getrandbits(128):032x}"]
    for seed in seeds:
        one = counted([policy(shares, seed)], units)
        assert stats.chisquare(one, 4000 * np.array(list(shares.values()))).pvalue > 1e-4
    for other in seeds[1:]:
        both = counted([policy(shares), policy(shares, other)], units)
        assert stats.chi2_contingency(both).pvalue > 1e-4


STORY: list[list[Any]] = [  # of a tally with a window of 10 seconds; as both languages tell it
    ["assign", "a", 0.0],
    ["assign", "user-7", 1.0],
    ["tell", "a", 1.0, 2.0],
    ["tell", "nobody", 1.0, 2.0],
    ["assign", "a", 3.0],  # who comes back keeps the place
    ["batch", 9.9],  # whatever is known, no window is over
    ["tell", "a", 2.0, 9.9],  # the last word
    ["tell", "a", 9.0, 10.0],  # its window is over
    ["batch", 10.5],
    ["batch", 10.5],
    ["assign", "Müller", 11.0],
    ["tell", "user-7", 9.0, 11.0],
    ["batch", 20.9],
]


def played(tally: Tally) -> list[Any]:
    """What the calls of the story return, without the random names of batches."""
    return [without_name(getattr(tally, call)(*given)) for call, *given in STORY]


def without_name(answer: Any) -> Any:
    return {name: part for name, part in answer.items() if name != "batch"} if isinstance(answer, dict) else answer


def test_a_unit_counts_when_its_window_is_over_and_never_before() -> None:
    tally = Tally(policy({"x": 0.5, "y": 0.5}), window=10.0, silence=0.25)  # a and Müller: x and y; user-7: y
    first = {"pulls": {"x": 1, "y": 0}, "sums": {"x": 2.0, "y": 0.0}, "squares": {"x": 4.0, "y": 0.0}}
    second = {"pulls": {"x": 0, "y": 1}, "sums": {"x": 0.0, "y": 0.25}, "squares": {"x": 0.0, "y": 0.0625}}
    of = {"policy": 3, "seed": SEED}
    expected = ["x", "y", True, False, "x", None, True, False, first | of, None, "y", False, second | of]
    assert played(tally) == expected
    assert tally.open == 1
    rest = tally.batch(at=21.0)
    assert rest is not None
    assert (rest["pulls"], tally.open) == ({"x": 0, "y": 1}, 0)


def test_every_batch_has_another_name() -> None:
    tally = Tally(policy({"x": 1.0}), window=1.0)
    batches = []
    for unit in ("a", "b"):
        tally.assign(unit, at=0.0)
        batches.append(tally.batch(at=1.0))
    assert len({one["batch"] for one in batches if one is not None}) == 2


def test_the_clock_of_the_node_is_the_default() -> None:
    tally = Tally(policy({"x": 1.0}), window=3600.0)
    tally.assign("a")
    assert tally.tell("a", 1.0)
    assert tally.batch() is None
    assert tally.batch(at=time.time() + 3601.0) is not None


@pytest.mark.parametrize("window", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_window(window: float) -> None:
    with pytest.raises(ValueError, match=r"^window must be a positive number of seconds, got"):
        Tally(policy({"x": 1.0}), window)


def test_what_is_no_reward() -> None:
    tally = Tally(policy({"x": 1.0}), 1.0)
    with pytest.raises(ValueError, match=r"^reward must be a finite number, got inf$"):
        tally.tell("a", math.inf)
    with pytest.raises(ValueError, match=r"^silence must be a finite number, got nan$"):
        Tally(policy({"x": 1.0}), 1.0, silence=math.nan)


def test_the_module_is_small_and_complete() -> None:
    text = EDGE_JS.read_text()
    assert len(text.encode()) <= 6144
    assert "import " not in text.replace("//   import ", "")
    assert not {"randomUUID", "subtle"} & set(re.findall(r"\w+", text))  # pages over plain HTTP have neither


@pytest.mark.system
def test_node_assigns_the_same_arms(tmp_path: Path) -> None:
    # labels that JavaScript would put into another order
    one = policy({"b": 0.13, "10": 0.4, "2": 0.07, "ä": 0.3, "never": 0.0, "__proto__": 0.1}, "ab" * 16)
    units = many_units()
    wrong = [{**one["probabilities"], "b": value} for value in (-0.13, 0.2)]
    data = {"policy": one, "units": units, "vectors": list(VECTORS), "wrong": wrong}
    (tmp_path / "data.json").write_text(json.dumps(data), encoding="utf-8")
    places = {"module": str(EDGE_JS), "data": str(tmp_path / "data.json"), "story": STORY}
    script = NODE.format(**{name: json.dumps(place) for name, place in places.items()})
    (tmp_path / "run.mjs").write_text(script, encoding="utf-8")
    command = [program("node", "nodejs"), str(tmp_path / "run.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout)
    assert found["arms"] == [assign(one, unit) for unit in units]
    assert set(found["arms"]) == set(one["arms"]) - {"never"}
    assert found["vectors"] == [uniform(one["seed"], unit) for unit in VECTORS]
    assert found["published"] == "a129ca6149be45e5"
    assert all(found["refused"]), found["refused"]
    tally = Tally(one, 10.0, 0.25)
    assert [without_name(answer) for answer in found["told"]] == played(tally)
    assert found["open"] == tally.open == 1


def test_a_window_that_cannot_count_in_time_is_refused() -> None:
    """Batches of a policy count a minute after its end; units of its last moment need time for their report."""
    timed = {**policy({"x": 1.0}), "until": "2026-05-01T10:00:00Z", "counted_at": "2026-05-01T10:01:00Z"}
    with pytest.raises(ValueError, match=r"window must be shorter than report_after \(60 seconds\), got 60"):
        Tally(timed, 60)
    assert Tally(timed, 59).window == 59.0
