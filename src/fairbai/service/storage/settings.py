"""Server settings."""

import ipaddress
import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from fairbai.service.storage.limits import Limits

DEFAULT = "sqlite:///fairbai.db"
VARIABLE = "FAIRBAI_SERVICE"  # passes the settings on to worker processes


@dataclass(frozen=True)
class ServerSettings:
    """Settings of one server.

    Attributes:
        database: The URL of the database.
        synchronous: Whether a commit waits for the disk; False is for tests that must see a loss.
        limits: What clients may take of the server.
        trusted_proxies: Addresses and networks, separated by commas, whose ``X-Forwarded-For`` and
            ``X-Forwarded-Proto`` are believed.
        access_log: Whether to log every request.
        failures: How many wrong keys an address may send per minute.
        session_seconds: How long somebody who signed in stays signed in.
        key_rate: How many requests per second a key may send to a worker on average, and twice as many at once; 0 for
            any number.
        key_streams: How many streams a key may have open at once in a worker.
        sweep: Seconds between two searches for tickets whose lease has ended.
        policy_seconds: How long a policy for edge nodes stays the same.
        demo: Whether to run the demo experiment.
        retention: How long experiments are kept after their end if they do not say it themselves, such as "365d".
        webhook_hosts: The hosts to which webhooks may be sent; none by default.
        webhook_secret: What they are signed with.
        unit_retention: How long units are stored after their assignment if the experiment does not say it itself.
        unit_secret: What units are hashed with; None for a key that is stored in the database.
    """

    database: str = DEFAULT
    synchronous: bool = True
    limits: Limits = field(default_factory=Limits)
    trusted_proxies: str = ""
    access_log: bool = False
    failures: int = 20
    session_seconds: float = 12 * 3600.0
    key_rate: float = 2000.0
    key_streams: int = 50
    sweep: float = 5.0
    policy_seconds: float = 60.0
    demo: bool = False
    retention: str | None = None
    webhook_hosts: tuple[str, ...] = ()
    webhook_secret: str | None = field(default=None, repr=False)
    unit_retention: str | None = None
    unit_secret: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.proxies()

    def proxies(self) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        """The networks of trusted proxies."""
        given = [text.strip() for text in self.trusted_proxies.split(",") if text.strip()]
        try:
            return [ipaddress.ip_network(text) for text in given]
        except ValueError as error:
            raise ValueError(f"trusted_proxies must be addresses or networks such as 10.0.0.0/8: {error}") from None

    def to_environment(self) -> None:
        """Pass the settings on to processes that are started from here."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """The settings of the process that started this one."""
        form: dict[str, Any] = json.loads(os.environ.get(VARIABLE, "{}"))
        return cls(**{**form, "limits": Limits(**form.get("limits", {}))})
