"""The kernels of a server: loaded, or asked for, when it starts, and watched until they are compiled."""

import asyncio
import logging
from collections.abc import Callable

from fairbai.compiling import requests
from fairbai.compiling.mode import MODE, OFF
from fairbai.compiling.tier import tier
from fairbai.identifier.rehearsal import rehearse, rehearse_drawn
from fairbai.problems.rates import Gap

FAMILIES = ({"kind": "gaussian", "variance": 1.0}, "bernoulli")  # the others have the kernels of bernoulli
PAUSE = 1.0  # seconds between two looks at what is compiled

log = logging.getLogger("fairbai.service")


def warm_up() -> None:
    """Call the kernels once: what is compiled is loaded, and the compiler is asked for the rest.

    The first request then waits for neither. Only with FAIRBAI_JIT=wait does this take long where the cache is empty.
    """
    for family in FAMILIES:
        for rates in (0.25, Gap(0.5)):  # known, and learned
            rehearse(family, rates)
    rehearse_drawn()


async def watch(note: Callable[[bool], None]) -> None:
    """Say in the log, and note, whether the kernels run compiled, until they do."""
    note(False)
    if MODE == OFF:
        log.info("kernels run as Python: nothing is compiled in this mode")
        return
    if await asyncio.to_thread(tier) == "python":
        log.info("kernels run as Python while they are being compiled in the background")
        if not await _compiled():
            log.warning("kernels stay Python: %s", requests.trouble())
            return
    note(True)
    log.info("kernels are compiled; requests run at full speed")


async def _compiled() -> bool:
    """Wait until the kernels are compiled; returns False if they never will be."""
    while await asyncio.to_thread(tier) == "python":
        if requests.trouble():
            return False
        await asyncio.sleep(PAUSE)
    return True
