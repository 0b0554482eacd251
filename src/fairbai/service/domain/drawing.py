"""Tickets that were drawn with a known probability, and are counted in the order of assignment; see docs/service.md.

A ticket is closed by its reward, or at the age of ``report_after``, when it counts as ``silence``. Tickets are counted
up to the first that is open, so that it is harmless if rewards come late because of what they are.

A ticket that is closed late may make any number of others ready. Those that are more than one operation may count are
left to operations of their own (``operations.Look``), which take turns with the work of other experiments. The log has
where each ended, as ``until``, so that a replay counts as many; without it all were counted that were ready.
"""

from collections.abc import Sequence

from fairbai.service.domain import costs
from fairbai.service.domain.book import Book
from fairbai.service.domain.refusals import invalid
from fairbai.service.domain.unit import Ticket, UnitOfWork


def ready_at_once(book: Book) -> int:
    """How many tickets an operation may count beside its own."""
    return max(1, int(costs.READY / book.seconds_to_count))


def cost_of_ready(book: Book, numbers: Sequence[int]) -> float:
    """What it may take to count what these tickets make ready, beside themselves."""
    if not book.drawn or book.behind or book.summed not in numbers:
        return 0.0
    return min(ready_at_once(book), book.tickets - book.summed) * book.seconds_to_count


def tell(unit: UnitOfWork, fresh: dict[int, float], late: list[int], most: int | None) -> None:
    """Store rewards with their tickets, and count what this makes ready.

    Args:
        unit: The experiment.
        fresh: The reward of every ticket.
        late: The tickets that were silent at their age. Their rewards are in the log, and never counted.
        most: How many tickets to count; None for all that are ready.
    """
    book = unit.book
    numbers, rewards = list(fresh), list(fresh.values())
    try:
        book.hold(rewards, len(late))
    except ValueError as error:
        raise invalid(str(error)) from None
    arms = [unit.tickets[number].arm for number in numbers]
    for number, reward in fresh.items():
        if number in late and number >= book.summed:
            continue  # not counted yet: that it was silent must not be forgotten
        unit.tickets[number] = unit.tickets[number]._replace(waiting=False, reward=reward)
        unit.told.append({"of_experiment": unit.experiment, "of_number": number, "new_reward": reward})
    until = _count_ready(unit, most)
    unit.log("told", {"tickets": numbers, "arms": arms, "rewards": rewards, "late": late, "expired": []} | until)


def silence(unit: UnitOfWork, due: list[int], most: int | None) -> None:
    """Close tickets that are of age, silent or with what their units have earned, and count what this makes ready."""
    numbers, book = sorted(due), unit.book
    arms = [unit.tickets[number].arm for number in numbers]
    held = [unit.tickets[number].reward for number in numbers]
    earned = [None if reward is None else book.capped(reward) for reward in held]
    rewards = [book.silence if reward is None else reward for reward in earned]
    for number, reward in zip(numbers, earned, strict=True):
        unit.tickets[number] = unit.tickets[number]._replace(waiting=False, reward=reward)
        row = {"of_experiment": unit.experiment, "of_number": number}
        if reward is None:
            unit.expired.append(row)
        else:
            unit.told.append({**row, "new_reward": reward})
    until = _count_ready(unit, most)
    unit.log("counted", {"tickets": numbers, "arms": arms, "rewards": rewards} | until)


def go_on(unit: UnitOfWork, most: int) -> None:
    """Count some of the tickets that an earlier operation left."""
    _count(unit, most)
    unit.log("summed", {"until": unit.book.summed})


def _count_ready(unit: UnitOfWork, most: int | None) -> dict[str, int]:
    """Count tickets up to the first that is open; returns what the log must say if some are left."""
    book = unit.book
    if book.behind or book.summed not in unit.tickets:
        return {}  # it is not their turn, or the first open ticket was not touched
    _count(unit, most)
    return {"until": book.summed} if book.behind else {}


def _count(unit: UnitOfWork, most: int | None) -> None:
    book = unit.book
    assert book.silence is not None
    drawn: list[tuple[int, float | None]] = []
    rewards: list[float] = []
    while len(drawn) != most and (ticket := _closed(unit, book.summed + len(drawn))) is not None:
        drawn.append((ticket.arm, ticket.probability))
        rewards.append(book.silence if ticket.reward is None else ticket.reward)
        book.held -= ticket.reward is not None
    if drawn:
        book.sum_next(drawn, rewards)
    book.behind = most is not None and _closed(unit, book.summed) is not None


def _closed(unit: UnitOfWork, number: int) -> Ticket | None:
    ticket = unit.ticket(number)
    return None if ticket is None or ticket.waiting else ticket
