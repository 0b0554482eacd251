"""What an analysis says, in plain English: for the terminal and for the page."""

import math
from typing import TYPE_CHECKING

from fairbai.analysis.drift import Change
from fairbai.problems import Bernoulli, Gaussian

if TYPE_CHECKING:
    from fairbai.analysis.analysis import Analysis

TINY = 1e-12
HARDLY = 0.5  # a confidence below which a figure would only mislead


def answers(found: "Analysis") -> list[str]:
    """The answer, in a few sentences: what holds whatever the drift comes first."""
    return [*drift_proof(found), headline(found)]


def headline(found: "Analysis") -> str:
    """The answer if every arm kept its mean, in a sentence or two."""
    ahead = _ahead(found)
    if found.guarantee == "doubted":
        means = "By plain means, " if drift_proof(found) else ""
        return f"{means}{ahead}, but do not rely on it: {reasons(found)}."
    proof = "" if found.guarantee == "proved" else " (observed, not proved)"
    sure = f"{percent(found.standing.confidence)} sure{proof}"
    race = listed([str(label) for label in found.candidates or ()])
    if found.decided:
        still = "" if len(found.candidates or ()) < 2 else f" Still in the race for the best: {race}."
        return f"{verdict(found, found.standing.named)}, {sure}.{_since(found)}{still}"
    if found.standing.confidence < HARDLY:
        sure = f"but the evidence hardly tells the arms apart{proof}"
    return f"No decision at {percent(1.0 - found.delta)}: {ahead}, {sure}. Still in the race: {race}."


def _ahead(found: "Analysis") -> str:
    """Who is ahead at the end of the log."""
    return f"{found.leader} leads" if found.question.control is None else f"{found.leader} is the best guess"


def verdict(found: "Analysis", named: int, best: str = "") -> str:
    """What it means that an arm is named; ``best`` is how the best arm is called, if not as usual."""
    question, label = found.question, found.arms.labels[named]
    best = best or ("the best arm" if question.goal == "max" else "the arm with the least mean")
    if question.tolerance is None:
        return f"{label} is {best}"
    if question.control is None:
        return f"{label} is {best}, or within {question.size} of it"
    control = found.arms.labels[question.control]
    if named == question.control:
        return f"No arm is better than {control} by more than {question.size}"
    return f"{label} is better than {control}, and within {question.size} of {best}"


def _since(found: "Analysis") -> str:
    reached = found.standing.reached
    if reached is None:
        return ""
    first = f" The evidence first sufficed after {at(found, reached.trial)}"
    if found.answer == found.leader:
        return f"{first}."
    suffices = "suffices too" if found.standing.last.score >= found.standing.level else "does not suffice"
    return f"{first}; at the end of the log {_ahead(found)}, for which it {suffices}."


def reasons(found: "Analysis") -> str:
    """What speaks against the answer, in a few words."""
    parts = []
    if found.mismatched:
        parts.append("arms were not assigned as they should have been")
    if found.drifted:
        parts.append("rewards changed over time")
    if found.doubts:
        parts.append("rewards contradict the family")
    if found.turned:
        parts.append(f"the evidence sufficed for {found.arms.labels[found.standing.named]}, and later against it")
    if found.lopsided:
        parts.append("rewards need not be normal, and some arms have few of them beside the others")
    return listed(parts)


def family(found: "Analysis") -> str:
    """The family, and loudly so if it was guessed."""
    choice = found.choice
    if not choice.guessed:
        return f"Rewards: {choice.family.kind}, {choice.reason}."
    return f"FAMILY GUESSED: {choice.family.kind}, {choice.reason}. Declare it (family) if it is another."


def sample_ratio(found: "Analysis") -> list[str]:
    """What was found about the sample ratio."""
    ratio = found.sample_ratio
    if ratio is None:
        return ["Sample ratio: not tested."]
    against = {
        "declared": "the declared shares",
        "assumed": "equal shares, which are assumed because none are declared",
        "logged": "the logged probabilities",
    }[ratio.source]
    figures = f"e-value {exponential(ratio.log_e_value)}, p-value {small(ratio.p_value)}"
    least = [] if ratio.assumed is None else [_assumed(ratio.assumed, "The test of the sample ratio")]
    if not ratio.mismatch:
        return [f"Sample ratio: no mismatch with {against} ({figures}; a mismatch is {ratio.level:g} or less).", *least]
    evident = "" if ratio.found is None or len(ratio.path) < 2 else f", evident after {at(found, ratio.found)}"
    lines = [
        f"SAMPLE-RATIO MISMATCH: {_worst(found)} ({figures}{evident}). Tested against {against}.",
        "Visitors were lost, doubled or redirected, or the shares were others. Find out which before you compare arms.",
        *least,
    ]
    if ratio.source == "assumed":
        lines.append("If the shares were meant to differ, declare them (shares); 'any' is for rules that adapt.")
    return lines


def _worst(found: "Analysis") -> str:
    ratio = found.sample_ratio
    assert ratio is not None
    off = [round(float(one) - 1.0, 9) for one in ratio.ratios]
    arm = max(range(len(off)), key=lambda arm: (abs(off[arm]), off[arm] < 0.0))  # the one that lacks trials comes first
    label, share = found.arms.labels[arm], float(found.arms.trials[arm]) / found.trials
    if ratio.shares is not None:
        return f"{label} has {100 * share:.1f} % of the trials instead of {100 * float(ratio.shares[arm]):.1f} %"
    change = float(ratio.ratios[arm]) - 1.0
    more = "more" if change > 0.0 else "less"
    return f"{label} was assigned {100 * abs(change):.1f} % {more} often than its probabilities say"


def drift(found: "Analysis") -> list[str]:
    """What was observed about drift."""
    check = found.drift
    if check is None:
        return ["Drift: totals cannot show it."]
    lines = []
    if check.drifted:
        clearest = min((check.level, *check.arms), key=lambda change: change.p_value)
        lines.append(f"DRIFT (observed): {_change(found, clearest)} (p-value {small(check.p_value)}).")
    else:
        lines.append(
            f"Drift: none observed (p-value {small(check.p_value)}; halves and tenths of the log compared), which does "
            "not prove that there is none."
        )
    if check.shares_changed:
        first, second = (listed([f"{100 * share:.1f} %" for share in half]) for half in check.shares_by_half)
        lines.append(f"The shares of the arms went from {first} in the first half of the log to {second}.")
        if check.drifted:
            lines.append("Shares and rewards changed together, so plain means of the arms are not comparable.")
    return lines


def _change(found: "Analysis", change: Change) -> str:
    if change.arm is None:
        moved = change.second - change.first
        points = isinstance(found.choice.family, Bernoulli)
        by = f"{100.0 * abs(moved):.2f} percentage points" if points else f"{abs(moved):,.4g}"
        rose = "rose" if moved > 0.0 else "fell"
        return f"all arms together {rose} by {by} from the first half of the log to the second"
    label = found.arms.labels[change.arm]
    return f"{label} went from {unit(found, change.first)} in the first half of the log to {unit(found, change.second)}"


def guarantee(found: "Analysis") -> list[str]:
    """Which guarantee holds, and under which conditions."""
    sure = percent(1.0 - found.delta)
    if found.guarantee == "doubted":
        lines = [f"If every arm kept its mean: no statement, because {reasons(found)}."]
    elif found.guarantee == "observed":
        lines = [f"If every arm kept its mean: observed, not proved: {_needs(found)}."]
    else:
        kind = found.choice.family.kind
        lines = [
            "If every arm kept its mean, arms were assigned by chance or by earlier rewards only, and no trial is "
            f"missing because of its reward: proved for {kind} rewards with probability {sure}, however often anybody "
            "looked, and whatever ended the log."
        ]
    lines += _whatever_the_drift(found, sure)
    return [*lines, tuning(found)]


def _needs(found: "Analysis") -> str:
    """What the proof needs that is not known, and what may happen without it."""
    if not isinstance(found.choice.family, Gaussian):
        return f"the proof needs {found.choice.family.kind} rewards, which these are only guessed to be"
    return (
        "the proof needs normal rewards. With skewed ones, such as revenue, answers may be wrong several times as "
        "often as stated where the trials of the arms are unequal"
    )


def _whatever_the_drift(found: "Analysis", sure: str) -> list[str]:
    proof = found.drift_proof
    if proof is None:
        return ["Whatever the drift: no statement. It needs the probability of every draw, and bounded rewards."]
    if found.mismatched:
        return ["Whatever the drift: no statement, because arms were not drawn with the logged probabilities."]
    lines = [
        f"Whatever the drift: proved with probability {sure} if arms were drawn with the logged probabilities, every "
        f"trial that was drawn is in the log, {_order(found)}, and every reward is what was known at one fixed age of "
        "its trial."
    ]
    if not proof.declared:
        lines.append(_assumed(float(proof.least.min()), "This"))
    return lines


def _order(found: "Analysis") -> str:
    """What must be true of the order of the trials."""
    return "rows are in the order of assignment" if found.times is None else "times are those of the assignment"


def _assumed(least: float, what: str) -> str:
    """That the least probability in the log is taken for a floor."""
    return (
        f"{what} needs a least probability that was fixed beforehand. None is declared (floor), so the least in the "
        f"log, {least:g}, is taken for it."
    )


def drift_proof(found: "Analysis") -> list[str]:
    """Which arm was the best on average, whatever the drift."""
    proof = found.drift_proof
    if proof is None or found.mismatched:
        return []
    best, sure = found.best_on_average, proof.last.confidence
    if sure >= 1.0 - found.delta:
        mean = "best" if found.question.goal == "max" else "least"
        said = verdict(found, proof.looks[-1].leader, f"the arm with the {mean} average over the log")
        said = f"no {said[3:]}" if said.startswith("No arm ") else said
        return [f"Whatever the drift: {said}, {percent(sure)} sure."]
    words = f"{percent(sure)} sure" if sure >= HARDLY else "but the evidence hardly tells the arms apart"
    lines = [f"Whatever the drift: no decision; {best} is ahead by the averages over the log, {words}."]
    if proof.reached is not None:
        arm, trial = found.arms.labels[proof.reached.arm], at(found, proof.reached.trial)
        lines.append(f"After {trial} it sufficed: the answer on average until then was {arm}.")
    return lines


def tuning(found: "Analysis") -> str:
    """How the evidence is weighed, and why that is fair."""
    rules = found.standing.rules
    if len(rules) == 1:
        return f"The evidence is that of Mixture(kappa={rules[0].kappa:.4g}), for the trials that were planned."
    kappas = listed([f"{rule.kappa:,g}" for rule in rules])
    return f"The evidence is an average over Mixture with kappa {kappas}: nothing was tuned to this log."


# --- words and figures ------------------------------------------------------------------------------------------


def unit(found: "Analysis", value: float) -> str:
    """A reward: in per cent if it is 0 or 1."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "∞" if value > 0 else "-∞"
    return f"{100.0 * value:.2f} %" if isinstance(found.choice.family, Bernoulli) else f"{value:,.5g}"


def percent(value: float) -> str:
    """A confidence in per cent, rounded down, and never to 100 %."""
    if value >= 0.9999:
        return "over 99.99 %"
    digits = 2 if value > 0.999 else 1
    return f"{math.floor(value * 100.0 * 10**digits + 1e-9) / 10**digits:g} %"


def small(value: float) -> str:
    """A p-value."""
    return f"below {TINY:g}" if value < TINY else f"{value:.2g}"


def exponential(logarithm: float) -> str:
    """An e-value, from its logarithm, which may be too large for a number."""
    if abs(logarithm) < 9.0:
        return f"{math.exp(logarithm):,.3g}"
    return f"1e{math.floor(logarithm / math.log(10.0))}"


def at(found: "Analysis", trial: int) -> str:
    """So many trials, and when that was."""
    time = found.time_of(trial)
    when = "" if time is None else f" ({time})" if isinstance(time, str) else f" (time {time:g})"
    return f"{trial:,} trials{when}"


def listed(words: list[str]) -> str:
    """Words with commas and an "and"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "none"
