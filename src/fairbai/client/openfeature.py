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
import re
import time
import uuid
from collections.abc import Mapping, Sequence

import httpx

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.provider import Metadata
    from openfeature.track import TrackingEventDetails
except ModuleNotFoundError as error:
    message = "fairbai.client.openfeature needs OpenFeature: pip install '.[openfeature]' in a clone of the repository"
    raise ModuleNotFoundError(message, name=error.name) from error

from fairbai.client.calls import ServiceError
from fairbai.client.client import Client

SECONDS = 60.0  # for which the experiment behind a flag is remembered
EVENT_ID = "event_id"
AN_ID = re.compile("[0-9a-f]{16}")

log = logging.getLogger("fairbai.client")


class FairbaiProvider(OFREPProvider):
    """Evaluates flags over OFREP, as every provider does, and sends tracked events as rewards.

    A reward that cannot be sent is logged as a warning: a page must not fail because of it.

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
        self._experiments: dict[str, tuple[float, str]] = {}

    def get_metadata(self) -> Metadata:
        """The name of the provider."""
        return Metadata(name="fairbai")

    def shutdown(self) -> None:
        """Close the connections."""
        super().shutdown()
        self.session.close()
        self._client.close_connections()

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Send an event as a reward of the flags that it is one of.

        The reward is the value of the details, or 1. With an attribute ``event_id`` the event is counted once, however
        often it is tracked.
        """
        details = tracking_event_details or TrackingEventDetails()
        event = str(details.attributes.get(EVENT_ID) or uuid.uuid4().hex)
        unit = None if evaluation_context is None else evaluation_context.targeting_key
        for flag in self._flags.get(tracking_event_name, ()):
            try:
                if not unit:
                    raise LookupError("its context has no targeting key")
                value = 1.0 if details.value is None else float(details.value)
                self._client.reward(self._experiment(flag), unit, value, event)
            except (LookupError, TypeError, ValueError, ServiceError, httpx.HTTPError) as error:
                log.warning("event %s is no reward of flag %s: %s", tracking_event_name, flag, error)

    def _experiment(self, flag: str) -> str:
        """The id of the newest experiment that has a flag; one without a flag is known by its id."""
        if AN_ID.fullmatch(flag):
            return flag
        until, found = self._experiments.get(flag, (0.0, ""))
        if time.monotonic() >= until:
            known = self._client.experiments(limit=1, flag=flag)["experiments"]
            if not known:
                raise LookupError("no experiment has this flag")
            found = str(known[0]["id"])
            self._experiments[flag] = time.monotonic() + SECONDS, found
        return found
