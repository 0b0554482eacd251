"""Server settings."""

import json
import os
from dataclasses import asdict, dataclass
from typing import Self

DEFAULT = "sqlite:///fairbai.db"
VARIABLE = "FAIRBAI_SERVICE"  # passes the settings on to worker processes


@dataclass(frozen=True)
class ServerSettings:
    """Settings of one server.

    Attributes:
        database: The URL of the database.
        synchronous: Whether a commit waits for the disk; False is for tests that must see a loss.
        largest_body: The maximum size of a request, in bytes.
        failures: How many wrong keys an address may send per minute.
        sweep: Seconds between two searches for tickets whose lease has ended.
        policy_seconds: How long a policy is valid.
        demo: Whether to run the demo experiment.
    """

    database: str = DEFAULT
    synchronous: bool = True
    largest_body: int = 2_000_000
    failures: int = 20
    sweep: float = 5.0
    policy_seconds: float = 60.0
    demo: bool = False

    def to_environment(self) -> None:
        """Pass the settings on to processes that are started from here."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """The settings of the process that started this one."""
        return cls(**json.loads(os.environ.get(VARIABLE, "{}")))
