"""OpenFeature for Python: flags are evaluated by the service, and what a variant earned is told by ``track``.

Needs the extra ``openfeature``. Quick start::

    from openfeature import api
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.track import TrackingEventDetails

    api.set_provider(FairbaiProvider("http://localhost:8000", key="fb_...", rewards={"purchase": "checkout"}))
    client, visitor = api.get_client(), EvaluationContext("visitor-7")
    color = client.get_string_value("checkout", "green", visitor)
    client.track("purchase", visitor, TrackingEventDetails(value=1.0))
"""

import logging
import math
import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import httpx

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.flag_evaluation import FlagEvaluationDetails
    from openfeature.hook import Hook, HookContext, HookHints
    from openfeature.provider import Metadata
    from openfeature.track import TrackingEventDetails
except ModuleNotFoundError as error:
    message = "fairbai.client.openfeature needs OpenFeature: pip install '.[openfeature]' in a clone of the repository"
    raise ModuleNotFoundError(message, name=error.name) from error

from fairbai.client.calls import ServiceError
from fairbai.client.client import Client
from fairbai.client.outbox import Outbox

SECONDS = 60.0  # for which the experiments behind a flag are remembered
SECONDS_IF_NONE_TAKES_IT = 1.0
MAX_EVALUATED = 100_000  # evaluations that are remembered: a flag, a unit, and the experiment
MAX_OF_FLAG = 3  # the newest experiments of a flag: in an older one, the window of a unit may still be open
EVENT_ID = "event_id"
AN_ID = re.compile("[0-9a-f]{16}")

log = logging.getLogger("fairbai.client")


class Evaluated(Hook):
    """Remembers which experiment a unit was in when a flag was evaluated: its rewards belong there."""

    def __init__(self) -> None:
        self._experiments: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def after(self, hook_context: HookContext, details: FlagEvaluationDetails[Any], hints: HookHints) -> None:
        """Remember an evaluation."""
        unit, experiment = hook_context.evaluation_context.targeting_key, details.flag_metadata.get("experiment")
        if not unit or not isinstance(experiment, str):
            return
        with self._lock:
            self._experiments[hook_context.flag_key, unit] = experiment
            self._experiments.move_to_end((hook_context.flag_key, unit))
            if len(self._experiments) > MAX_EVALUATED:
                self._experiments.popitem(last=False)

    def experiment(self, flag: str, unit: str) -> str | None:
        """In which a unit was last; None if it was not evaluated here."""
        return self._experiments.get((flag, unit))


class FairbaiProvider(OFREPProvider):
    """Evaluates flags over OFREP, as every provider does, and sends tracked events as rewards.

    Rewards are sent by a thread, so that no page waits for them. One that cannot be sent is logged as a warning: a page
    must not fail because of it.

    Args:
        url: The address of the service, such as ``http://localhost:8000``.
        key: An API key of a project, with the role writer; a server admin's may send rewards to another project.
        rewards: Which events are rewards, and of which flags: ``{"purchase": "checkout"}``, or a list of flags or ids.
        timeout: Seconds per attempt.
        retries: How often to repeat a reward that did not get through.
    """

    def __init__(
        self,
        url: str,
        key: str,
        rewards: Mapping[str, str | Sequence[str]] | None = None,
        timeout: float = 5.0,
        retries: int = 2,
    ) -> None:
        super().__init__(url, headers_factory=lambda: {"Authorization": f"Bearer {key}"}, timeout=timeout)
        self._client = Client(url, key, timeout, retries)
        self._flags = {
            event: (flags,) if isinstance(flags, str) else tuple(flags) for event, flags in (rewards or {}).items()
        }
        self._evaluated = Evaluated()
        self._of_flags: dict[str, tuple[float, list[str]]] = {}  # when they were read, and the experiments
        self._outbox = Outbox()

    def get_metadata(self) -> Metadata:
        """The name of the provider."""
        return Metadata(name="fairbai")

    def get_provider_hooks(self) -> list[Hook]:
        """What remembers evaluations."""
        return [self._evaluated]

    def shutdown(self) -> None:
        """Send what is still to be sent, for some seconds, and close the connections."""
        self._outbox.close()
        super().shutdown()
        self.session.close()
        self._client.close_connections()

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Send an event as a reward of the flags that it is one of, soon and in the background.

        The reward is the value of the details, or 1. With an attribute ``event_id`` the event is counted once, however
        often it is tracked.
        """
        details = tracking_event_details or TrackingEventDetails()
        named = details.attributes.get(EVENT_ID)
        event = uuid.uuid4().hex if named is None or named == "" else str(named)
        unit = None if evaluation_context is None else evaluation_context.targeting_key
        for flag in self._flags.get(tracking_event_name, ()):
            reward = _Reward(tracking_event_name, flag, unit, details.value, event)
            if not self._outbox.put(partial(self._send, reward)):
                reward.warn("too many wait to be sent, or the provider was shut down")

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until all rewards that were tracked so far are sent; False if that takes longer."""
        return self._outbox.flush(seconds)

    def _send(self, reward: "_Reward") -> None:
        """Send a reward to the experiment whose trial it belongs to."""
        try:
            if not reward.unit:
                raise LookupError("its context has no targeting key")
            value = 1.0 if reward.value is None else float(reward.value)
            missing: ServiceError | None = None
            answered = False
            for experiment in self._experiments(reward.flag, reward.unit):
                try:
                    told = self._client.reward(experiment, reward.unit, value, reward.event)
                except ServiceError as error:
                    if error.status != 404:
                        raise
                    missing = error
                    continue
                if not told.ignored and not told.late:
                    return
                answered = True
            if missing is not None and not answered:
                raise missing
            log.info("event %s is not counted for flag %s: the unit has no open trial", reward.name, reward.flag)
        except (LookupError, TypeError, ValueError, ServiceError, httpx.HTTPError) as error:
            reward.warn(error)

    def _experiments(self, flag: str, unit: str) -> Iterator[str]:
        """Those that may have the trial of a unit, the likeliest first.

        That is the one in which it was evaluated here, unless it was evaluated elsewhere since. If it never was, it is
        the newest with the flag, and then those before: the window of the unit may still be open in an older one.
        """
        if AN_ID.fullmatch(flag):
            yield flag
            return
        evaluated = self._evaluated.experiment(flag, unit)
        tried = set()
        if evaluated is not None:
            tried.add(evaluated)
            yield evaluated
        for age in (SECONDS, SECONDS_IF_NONE_TAKES_IT):
            for experiment in self._of_flag(flag, age):
                if experiment == evaluated:
                    break  # the others are older
                if experiment not in tried:
                    tried.add(experiment)
                    yield experiment

    def _of_flag(self, flag: str, age: float) -> list[str]:
        """The ids of the newest experiments that have a flag, as they were at most so many seconds ago."""
        at, found = self._of_flags.get(flag, (-math.inf, []))
        if time.monotonic() - at >= age:
            known = self._client.experiments(limit=MAX_OF_FLAG, flag=flag)["experiments"]
            found = [str(one["id"]) for one in known]
            if not found:  # not remembered: the experiment may be created before the next event
                raise LookupError("no experiment has this flag")
            self._of_flags[flag] = time.monotonic(), found
        return found


class _Reward(NamedTuple):
    """A tracked event that is a reward of a flag."""

    name: str
    flag: str
    unit: str | None
    value: Any
    event: str

    def warn(self, why: object) -> None:
        """Log that it is not sent."""
        log.warning("event %s is no reward of flag %s: %s", self.name, self.flag, why)
