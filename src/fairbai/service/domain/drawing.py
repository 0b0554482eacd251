"""Tickets that were drawn with a known probability, and are counted in the order of assignment; see docs/service.md.

A ticket is closed by its reward, or at the age of ``report_after``, when it counts as ``silence``. Tickets are counted
up to the first that is open, so that it is harmless if rewards come late because of what they are.
"""

from fairbai.service.domain.refusals import invalid
from fairbai.service.domain.unit import UnitOfWork


def tell(unit: UnitOfWork, fresh: dict[int, float], late: list[int]) -> None:
    """Store rewards with their tickets, and count what this makes ready.

    Args:
        unit: The experiment.
        fresh: The reward of every ticket.
        late: The tickets that were silent at their age. Their rewards are in the log, and never counted.
    """
    book = unit.book
    numbers, rewards = list(fresh), list(fresh.values())
    try:
        book.hold(rewards, len(late))
    except ValueError as error:
        raise invalid(str(error)) from None
    arms = [unit.tickets[number].arm for number in numbers]
    unit.log("told", {"tickets": numbers, "arms": arms, "rewards": rewards, "late": late, "expired": []})
    for number, reward in fresh.items():
        if number in late and number >= book.summed:
            continue  # not counted yet: that it was silent must not be forgotten
        unit.tickets[number] = unit.tickets[number]._replace(waiting=False, reward=reward)
        unit.told.append({"of_experiment": unit.experiment, "of_number": number, "new_reward": reward})
    count_ready(unit)


def silence(unit: UnitOfWork, due: list[int]) -> None:
    """Close tickets that are of age, silent or with what their units have earned, and count what this makes ready."""
    numbers, book = sorted(due), unit.book
    arms = [unit.tickets[number].arm for number in numbers]
    held = [unit.tickets[number].reward for number in numbers]
    earned = [None if reward is None else book.capped(reward) for reward in held]
    rewards = [book.silence if reward is None else reward for reward in earned]
    unit.log("counted", {"tickets": numbers, "arms": arms, "rewards": rewards})
    for number, reward in zip(numbers, earned, strict=True):
        unit.tickets[number] = unit.tickets[number]._replace(waiting=False, reward=reward)
        row = {"of_experiment": unit.experiment, "of_number": number}
        if reward is None:
            unit.expired.append(row)
        else:
            unit.told.append({**row, "new_reward": reward})
    count_ready(unit)


def count_ready(unit: UnitOfWork) -> None:
    """Count tickets up to the first that is open."""
    book = unit.book
    assert book.silence is not None
    if book.summed not in unit.tickets:
        return  # the first open ticket was not touched
    drawn: list[tuple[int, float | None]] = []
    rewards: list[float] = []
    while (ticket := unit.ticket(book.summed + len(drawn))) is not None and not ticket.waiting:
        drawn.append((ticket.arm, ticket.probability))
        rewards.append(book.silence if ticket.reward is None else ticket.reward)
        book.held -= ticket.reward is not None
    if drawn:
        book.sum_next(drawn, rewards)
