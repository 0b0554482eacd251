"""Tickets whose rewards are counted at a fixed age, in the order of assignment; see docs/delays.md."""

from fairbai.service.domain.refusals import invalid
from fairbai.service.domain.unit import UnitOfWork


def hold(unit: UnitOfWork, fresh: dict[int, float], late: list[int]) -> None:
    """Store rewards with their tickets, to be counted when these are of age.

    Args:
        unit: The experiment.
        fresh: The reward of every ticket.
        late: The tickets that are of age already. Their rewards are in the log, and never counted.
    """
    numbers, rewards = list(fresh), list(fresh.values())
    try:
        unit.book.hold(rewards, len(late))
    except ValueError as error:
        raise invalid(str(error)) from None
    arms = [unit.tickets[number].arm for number in numbers]
    unit.log("told", {"tickets": numbers, "arms": arms, "rewards": rewards, "late": late, "expired": []})
    for number, reward in fresh.items():
        ticket = unit.tickets[number]
        if number in late and ticket.waiting:
            continue  # of age, but not counted yet: that it was silent must not be forgotten
        unit.tickets[number] = ticket._replace(reward=reward)
        unit.held.append({"of_experiment": unit.experiment, "of_number": number, "new_reward": reward})


def count_due(unit: UnitOfWork, due: list[int]) -> None:
    """Count tickets that are of age: their rewards or, for those that are silent, what silence counts as."""
    numbers = sorted(due)
    arms = [unit.tickets[number].arm for number in numbers]
    held = {number: unit.tickets[number].reward for number in numbers}
    told = {number: unit.book.capped(reward) for number, reward in held.items() if reward is not None}
    rewards = [told.get(number, unit.book.silence) for number in numbers]
    unit.book.count_due(arms, rewards)
    unit.book.held -= len(told)
    unit.log("counted", {"tickets": numbers, "arms": arms, "rewards": rewards})
    for number in numbers:
        unit.tickets[number] = unit.tickets[number]._replace(waiting=False, reward=told.get(number))
        row = {"of_experiment": unit.experiment, "of_number": number}
        if number in told:
            unit.told.append({**row, "new_reward": told[number]})
        else:
            unit.expired.append(row)
