"""The real clients of OpenFeature against a real server: of Python from PyPI, and of JavaScript from npm."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason
from openfeature.track import TrackingEventDetails

from fairbai.client import outbox
from fairbai.client.openfeature import FairbaiProvider
from tests.debian import alone, program
from tests.processes import run_python
from tests.service.conftest import Start
from tests.service.server import Server, free_port

VALUES: dict[str, dict[str, Any]] = {
    "text": {"a": "red", "b": "green", "c": "blue", "d": "black"},
    "number": {"a": 1, "b": 2.5, "c": 3, "d": 4},
    "switch": {"a": True, "b": False, "c": True, "d": False},
    "object": {"a": {"size": 1}, "b": {"size": 2}, "c": {"size": 3}, "d": {"size": 4}},
}
PACKAGES = ("server-sdk", "ofrep-provider", "web-sdk", "ofrep-web-provider")
SCRIPT = Path(__file__).with_name("openfeature.mjs")


@pytest.fixture
def server(start: Start, sqlite: str) -> Server:
    """A server with a flag of every type, one that is paused, one for pages, and one that no page evaluates."""
    found = start(sqlite)
    window = {"family": "bernoulli", "report_after": 3600.0, "silence": 0.0}
    for flag, values in VALUES.items():
        found.create(flag=flag, values=values, **({**window, "lease": None} if flag == "text" else {}))
    paused = found.create(flag="paused")
    assert found.call("POST", f"/v1/experiments/{paused}/pause").status == 200
    found.create(flag="bulk", bulk=True)
    found.create(flag="untouched")
    return found


def wait_until(reached: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def trials(server: Server, flag: str) -> int:
    (one,) = server.call("GET", f"/v1/experiments?flag={flag}").body["experiments"]
    return int(one["trials"])


# --- Python -----------------------------------------------------------------------------------------------------


@pytest.fixture
def visitor() -> Iterator[EvaluationContext]:
    """A visitor; the provider is removed afterwards."""
    yield EvaluationContext("visitor-7", {"plan": "premium"})
    api.shutdown()
    api.clear_providers()


def show(step: str, found: FlagEvaluationDetails[Any]) -> None:
    """A line of the transcript in docs/howto/openfeature.md, for ``pytest -s``."""
    shown = {"value": found.value, "variant": found.variant, "reason": found.reason, "error": found.error_code}
    shown |= {"flag_metadata": dict(found.flag_metadata) or None}
    print(json.dumps({"step": step, **{name: value for name, value in shown.items() if value is not None}}))


def provide(server: Server, **headers: str) -> Any:
    provider = OFREPProvider(server.address, headers_factory=lambda: headers, timeout=60.0)
    api.set_provider(provider)
    return provider


def test_python_provider(server: Server, visitor: EvaluationContext) -> None:
    provider = provide(server, **{"X-API-Key": server.key})
    try:
        client = api.get_client()
        details = client.get_string_details("text", "fallback", visitor)
        print()
        show("text", details)
        assert (details.error_code, details.reason) == (None, Reason.SPLIT)
        assert details.value == VALUES["text"][str(details.variant)]
        assert client.get_string_details("text", "fallback", visitor) == details
        assert trials(server, "text") == 1
        assert details.flag_metadata["ticket"]
        show("again", client.get_string_details("text", "fallback", visitor))
        number = client.get_float_details("number", -1.0, visitor)
        show("number", number)
        assert number.value == VALUES["number"][str(number.variant)]
        assert client.get_boolean_details("switch", False, visitor).error_code is None
        assert client.get_object_details("object", {}, visitor).value in list(VALUES["object"].values())
        paused = client.get_string_details("paused", "fallback", visitor)
        show("paused", paused)
        assert (paused.value, paused.reason, paused.error_code) == ("fallback", Reason.DISABLED, None)
        for flag, context, code in (
            ("unknown", visitor, ErrorCode.FLAG_NOT_FOUND),
            ("text", EvaluationContext(attributes={"plan": "basic"}), ErrorCode.TARGETING_KEY_MISSING),
        ):
            failed = client.get_string_details(flag, "fallback", context)
            show("unknown" if flag == "unknown" else "nobody", failed)
            assert (failed.value, failed.error_code) == ("fallback", code), failed
        assert client.get_boolean_details("text", True, visitor).error_code == ErrorCode.TYPE_MISMATCH
    finally:
        provider.session.close()


def test_python_provider_with_a_wrong_key(server: Server, visitor: EvaluationContext) -> None:
    provider = provide(server, Authorization="Bearer wrong")
    try:
        failed = api.get_client().get_string_details("text", "fallback", visitor)
        assert (failed.value, failed.error_message) == ("fallback", "unauthorized")
    finally:
        provider.session.close()


def held(server: Server, flag: str) -> int:
    """Rewards that are known, and counted when their window is over."""
    (one,) = server.call("GET", f"/v1/experiments?flag={flag}").body["experiments"]
    return int(server.call("GET", f"/v1/experiments/{one['id']}").body["held"])


def test_tracked_events_are_rewards(
    server: Server, visitor: EvaluationContext, caplog: pytest.LogCaptureFixture
) -> None:
    (text,) = server.call("GET", "/v1/experiments?flag=text").body["experiments"]
    rewards = {"purchase": ["text"], "return": text["id"], "click": "unknown", "sign-up": "switch"}
    api.set_provider(FairbaiProvider(server.address, server.key, rewards, timeout=60.0))
    client = api.get_client()
    assert client.provider.get_metadata().name == "fairbai"
    client.get_string_value("text", "fallback", visitor)
    order = TrackingEventDetails(value=1.0, attributes={"event_id": "order-1"})
    for _ in range(2):
        client.track("purchase", visitor, order)
    client.track("look", visitor)  # which is no reward
    assert client.provider.flush(60.0)
    assert held(server, "text") == 1
    client.get_string_value("text", "fallback", EvaluationContext("visitor-8"))
    client.track("return", EvaluationContext("visitor-8"))
    assert client.provider.flush(60.0)
    print()
    print(json.dumps({"step": "track", "events": 3, "rewards": held(server, "text")}))  # one was sent twice
    assert (held(server, "text"), caplog.records) == (2, [])
    for event, context, word in (
        ("purchase", EvaluationContext(), "no targeting key"),
        ("purchase", EvaluationContext("stranger"), "No such unit"),
        ("click", visitor, "no experiment has this flag"),
        ("sign-up", visitor, "report_after"),
    ):
        client.track(event, context)
        assert client.provider.flush(60.0)
        assert word in caplog.records[-1].getMessage()
    assert held(server, "text") == 2


def test_rewards_follow_a_unit_when_its_flag_changes_experiment(
    start: Start, sqlite: str, visitor: EvaluationContext, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if the provider remembers an older experiment of the flag, or did not evaluate the unit itself."""
    server = start(sqlite)
    window = {"family": "bernoulli", "report_after": 3600.0, "silence": 0.0, "lease": None, "flag": "shop"}
    old = server.create(**window)

    def held_of(experiment: str) -> int:
        return int(server.call("GET", f"/v1/experiments/{experiment}").body["held"])

    def evaluate(provider: FairbaiProvider, *names: str) -> None:
        api.set_provider(provider)
        for name in names:
            assert api.get_client().get_string_value("shop", "fallback", EvaluationContext(name)) != "fallback"

    def buy(provider: FairbaiProvider, *names: str) -> None:
        for name in names:
            provider.track("purchase", EvaluationContext(name))
        assert provider.flush(60.0)

    one, other = (FairbaiProvider(server.address, server.key, {"purchase": "shop"}) for _ in range(2))
    evaluate(one, "first", "second", "third")
    buy(one, "first")
    buy(other, "second")  # evaluated by the other provider
    assert held_of(old) == 2
    assert server.call("POST", f"/v1/experiments/{old}/close").status == 200
    new = server.create(**window)

    def taken_over() -> bool:  # a worker sees a new flag within a second
        api.get_client().get_string_value("shop", "fallback", EvaluationContext("probe"))
        return bool(server.call("GET", f"/v1/experiments/{new}").body["trials"])

    wait_until(taken_over)
    evaluate(one, "fourth", "fifth")
    buy(one, "fourth", "third")  # third is in the old one, whose window is open
    assert (held_of(old), held_of(new)) == (3, 1)
    other._of_flags["shop"] = (time.monotonic() - 2.0, [old])  # as if it had asked for the flag 2 s ago
    buy(other, "fifth")
    assert (held_of(old), held_of(new)) == (3, 2)
    other.shutdown()
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_a_flag_without_an_experiment_is_asked_for_again(
    start: Start, sqlite: str, visitor: EvaluationContext, caplog: pytest.LogCaptureFixture
) -> None:
    """One event too early must not cost the rewards of the next minute."""
    server = start(sqlite)
    provider = FairbaiProvider(server.address, server.key, {"purchase": "shop"}, timeout=60.0)
    provider.track("purchase", visitor)
    assert provider.flush(60.0)
    assert "no experiment has this flag" in caplog.text
    at = server.create(family="bernoulli", report_after=3600.0, silence=0.0, lease=None, flag="shop")
    assert server.call("POST", f"/v1/experiments/{at}/ask", {"unit": "visitor-7"}).status == 200  # evaluated elsewhere
    provider.track("purchase", visitor)
    assert provider.flush(60.0)
    provider.shutdown()
    assert held(server, "shop") == 1


def test_event_zero_is_the_same_event(server: Server, visitor: EvaluationContext) -> None:
    (text,) = server.call("GET", "/v1/experiments?flag=text").body["experiments"]
    provider = FairbaiProvider(server.address, server.key, {"purchase": "text"})
    api.set_provider(provider)
    client = api.get_client()
    client.get_string_value("text", "fallback", visitor)
    heads = []
    for _ in range(2):
        client.track("purchase", visitor, TrackingEventDetails(attributes={"event_id": 0}))
        assert provider.flush(60.0)
        heads.append(server.call("GET", f"/v1/experiments/{text['id']}/head").body["head"])
    assert heads[0] == heads[1]
    assert held(server, "text") == 1


def test_tracking_does_not_wait(visitor: EvaluationContext) -> None:
    """The event is only taken down; the thread that called does not send it."""
    threads = []
    provider = FairbaiProvider(f"http://127.0.0.1:{free_port()}", "fb_key", {"purchase": "0" * 16}, retries=0)
    provider._send = lambda reward: threads.append(threading.get_ident())  # type: ignore[method-assign]
    provider.track("purchase", visitor)
    assert provider.flush(60.0)
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()
    provider.shutdown()


def test_outbox(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails does not stop what follows; what does not end in time is given up, and said."""
    monkeypatch.setattr(outbox, "MAX_WAITING", 2)
    box, done, go = outbox.Outbox(), [], threading.Event()
    box.put(lambda: done.append(1 // 0))
    box.put(lambda: done.append(1))
    assert box.flush(60.0)
    assert done == [1]
    assert box.put(partial(go.wait, 60.0))
    wait_until(lambda: not box._waiting)
    assert [box.put(lambda: done.append(2)) for _ in range(3)] == [True, True, False]
    assert not box.flush(0.01)
    box.close(0.01)
    go.set()
    assert box.flush(60.0)
    assert done == [1]
    assert "2 rewards were not sent" in caplog.text
    assert not box.put(lambda: done.append(3))


def test_a_page_works_without_the_service(visitor: EvaluationContext, caplog: pytest.LogCaptureFixture) -> None:
    api.set_provider(FairbaiProvider(f"http://127.0.0.1:{free_port()}", "fb_key", {"purchase": "text"}, retries=0))
    client = api.get_client()
    assert client.get_string_value("text", "fallback", visitor) == "fallback"
    client.track("purchase", visitor)
    assert client.provider.flush(60.0)
    assert "event purchase is no reward of flag text" in caplog.records[-1].getMessage()


@pytest.mark.parametrize(
    ("name", "value"), [("visitor", float("nan")), ("visitor", float("inf")), ("visitor", "much"), ("\ud800", 1.0)]
)
def test_a_page_works_with_what_cannot_be_sent(name: str, value: Any, caplog: pytest.LogCaptureFixture) -> None:
    provider = FairbaiProvider(f"http://127.0.0.1:{free_port()}", "fb_key", {"purchase": "0" * 16}, retries=0)
    provider.track("purchase", EvaluationContext(name), TrackingEventDetails(value=value))
    provider.shutdown()
    assert "event purchase is no reward of flag 0000000000000000" in caplog.records[-1].getMessage()


def test_missing_openfeature() -> None:
    code = """
import sys
sys.modules["openfeature"] = None
try:
    import fairbai.client.openfeature
except ModuleNotFoundError as error:
    print(error)
"""
    expected = (
        "fairbai.client.openfeature needs OpenFeature: pip install '.[openfeature]' in a clone of the repository\n"
    )
    assert run_python("-c", code) == expected


# --- JavaScript -------------------------------------------------------------------------------------------------


def installed() -> Path:
    """A folder with the packages, which is made once per machine."""
    npm = program("npm", "npm")
    folder = Path(tempfile.gettempdir()) / "fairbai-openfeature-js"
    with alone("openfeature-js"):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            names = [f"@openfeature/{name}" for name in PACKAGES]
            options = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
            subprocess.run([npm, "install", *options, *names], cwd=folder, check=True)
            (folder / "complete").touch()
        shutil.copy(SCRIPT, folder)
    return folder


@pytest.mark.system
def test_javascript_sdks(server: Server) -> None:
    folder = installed()
    command = [program("node", "nodejs"), SCRIPT.name, server.address, server.key, "visitor-8"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"\n{done.stdout}")
    told = {line.pop("step"): line for line in map(json.loads, done.stdout.splitlines())}
    for flag, values in VALUES.items():
        assert told[flag]["reason"] == "SPLIT"
        assert told[flag]["value"] == values[told[flag]["variant"]]
    assert told["again"] == told["text"]
    assert told["paused"]["value"] == "fallback"  # by an error: its release does not know answers without a value
    codes = {step: told[step]["errorCode"] for step in ("mismatch", "unknown", "nobody", "wrong key")}
    assert codes == {
        "mismatch": "TYPE_MISMATCH",
        "unknown": "FLAG_NOT_FOUND",
        "nobody": "TARGETING_KEY_MISSING",
        "wrong key": "GENERAL",
    }
    assert told["web text"]["value"] == told["text"]["value"]
    assert told["web bulk"]["reason"] == "SPLIT"
    only = told["web only on servers"]
    assert (only["value"], only["reason"]) == ("fallback", "DISABLED")
    assert told["web again"]["statuses"] == [200, 304]
    assert (told["reward"]["status"], told["reward"]["counted"]) == (200, 1)
    assert [trials(server, flag) for flag in ("text", "bulk", "untouched", "paused")] == [1, 1, 0, 0]
    server.verify()
