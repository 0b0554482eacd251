"""Units that a node assigns by a hash, in Python and in JavaScript."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
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
const tally = new Tally(policy, "one");
Object.defineProperty(Object.getPrototypeOf(crypto), "randomUUID", {{ value: undefined }}); // as over plain HTTP
for (const reward of [0.5, 2]) tally.add(policy.arms[0], reward);
console.log(JSON.stringify({{
  arms: units.map((unit) => assign(policy, unit)),
  vectors: vectors.map((unit) => uniform(policy.seed, unit)),
  published: siphash([...Array(16).keys()], [...Array(15).keys()]).toString(16),
  refused: [
    ...["", "\\ud800", 7].map((unit) => thrown(() => assign(policy, unit))),
    ...wrong.map((probabilities) => thrown(() => assign({{ ...policy, probabilities }}, "a"))),
    thrown(() => tally.add("nobody", 1)), thrown(() => tally.add(policy.arms[0], NaN)),
  ],
  form: tally.form,
  names: [1, 2].map(() => new Tally(policy).form.batch),
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


def test_tally() -> None:
    tally = Tally(policy({"x": 0.5, "y": 0.5}), "node 7")
    for arm, reward in (("x", 0.5), ("x", 2.0), ("y", 1.0)):
        tally.add(arm, reward)
    assert tally.trials == 3
    with pytest.raises(ValueError, match=r"arm must be one of \['x', 'y'\], got 'z'"):
        tally.add("z", 1.0)
    with pytest.raises(ValueError, match="reward must be a finite number, got inf"):
        tally.add("x", math.inf)
    expected = {
        "batch": "node 7",
        "pulls": {"x": 2, "y": 1},
        "sums": {"x": 2.5, "y": 1.0},
        "squares": {"x": 4.25, "y": 1.0},
        "policy": 3,
        "seed": SEED,
    }
    assert tally.batch() == tally.batch() == expected
    with pytest.raises(RuntimeError, match="this tally was reported: begin another one"):
        tally.add("x", 1.0)
    assert Tally(policy({"x": 1.0})).name != Tally(policy({"x": 1.0})).name


def test_the_module_is_small_and_complete() -> None:
    text = EDGE_JS.read_text()
    assert len(text.encode()) <= 5120
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
    script = NODE.format(module=json.dumps(str(EDGE_JS)), data=json.dumps(str(tmp_path / "data.json")))
    (tmp_path / "run.mjs").write_text(script, encoding="utf-8")
    command = [program("node", "nodejs"), str(tmp_path / "run.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout)
    assert found["arms"] == [assign(one, unit) for unit in units]
    assert set(found["arms"]) == set(one["arms"]) - {"never"}
    assert found["vectors"] == [uniform(one["seed"], unit) for unit in VECTORS]
    assert found["published"] == "a129ca6149be45e5"
    assert all(found["refused"]), found["refused"]
    tally = Tally(one, "one")
    tally.add("b", 0.5)
    tally.add("b", 2.0)
    assert found["form"] == tally.batch()
    assert len(set(found["names"])) == 2
