"""How sure an experiment is, now or when it ended, and what was asked of it."""

from dataclasses import replace
from typing import Any, cast

from fairbai.identifier import Status
from fairbai.identifier.sentences import race
from fairbai.problems.question import Question
from fairbai.service.domain import status_answers
from fairbai.service.domain.book import Book
from fairbai.service.domain.finals import Final
from fairbai.service.reading.words import quoted, sure

ENDS = {
    "deadline": "Stopped at the deadline without a decision.",
    "max_trials": "Stopped at the end of its budget without a decision.",
    "closed": "Closed by hand without a decision.",
}


CONTRADICTIONS = {
    "family": "the rewards contradict the declared family",
    "fit": "the means are not linear in the features",
    "sample_ratio": "arms do not come as often as they are drawn",
}


def confidence_of(book: Book, now: Status) -> float | None:
    """How sure it is that the recommendation is right."""
    return now.confidence if book.final is None else book.final.confidence


def candidates_of(book: Book, now: Status) -> list[str] | None:
    """The labels of the arms that are not excluded."""
    left: Any = now.candidates if book.final is None else book.final.candidates
    return None if left is None else [book.labels[arm] for arm in left]


def standing_sentence(book: Book, now: Status) -> str:
    """What one has if one stops now, or stopped with."""
    if book.final is None or book.final.decided:
        labelled = replace(now, doubts=book.identifier.procedure.doubts.listed(book.labels, quote=quoted))
        return labelled.sentence(lambda arm: quoted(book.labels[cast(int, arm)]))
    return f"{ENDS[book.final.ended_by]} {_guess(book, book.final, now)}"


def _guess(book: Book, final: Final, now: Status) -> str:
    """The best guess when it ended, with how sure it was."""
    if final.recommendation is None:
        return "There is no best guess, because not every arm had a reward."
    named = f"Best guess: {quoted(book.labels[final.recommendation])}"
    if final.confidence is None or final.candidates is None:
        return f"{named}; how sure that is cannot be said, because {_unknown(now)}."
    left = race([quoted(book.labels[arm]) for arm in final.candidates], len(book.labels), str)
    return f"{named}, {sure(final.confidence)}; {left}."


def _unknown(now: Status) -> str:
    if early := [doubt for doubt in now.doubts if not doubt.after_decision]:
        return CONTRADICTIONS[early[0].kind]
    return "an earlier version ended it" if now.proved else "its stopping rule is not proved"


def sample_ratio(book: Book) -> status_answers.SampleRatio | None:
    """Whether arms come as often as they are drawn, where the stop rests on that."""
    test = book.identifier.procedure.doubts.ratio
    if test is None:
        return None
    how = "not as drawn" if test.mismatch else "no mismatch"
    sentence = f"Sample ratio: {how} (p = {test.p_value:.2g}; a mismatch is {test.level:g} or less)."
    sentence = sentence if test.trials else "Sample ratio: no drawn trials yet."
    return {"p_value": test.p_value, "level": test.level, "mismatch": test.mismatch, "sentence": sentence}


# --- the question -----------------------------------------------------------------------------------------------


def question_sentence(question: Question, labels: list[str]) -> str:
    """What is asked of the arms."""
    better = " Lower is better." if question.goal == "min" else ""
    if question.control is not None:
        control = f"the control, {quoted(labels[question.control])},"
        return f"Is an arm better than {control} by more than {question.size}, and which?{better}"
    if question.tolerance is not None:
        return f"Which arm is best, or within {question.size} of the best?{better}"
    return f"Which arm has the {'lowest' if question.goal == 'min' else 'highest'} mean?{better}"


def answer_words(question: Question, answer: int, labels: list[str], seems: str = "is") -> str:
    """What a decision for an arm says."""
    named = quoted(labels[answer])
    if question.control is None:
        more = "" if question.tolerance is None else f" or within {question.size} of the best"
        return f"{named} {seems} best{more}"
    control = f"the control, {quoted(labels[question.control])}"
    if answer == question.control:
        none = "seems" if seems == "looks" else "is"
        return f"No arm {none} better than {control}, by more than {question.size}"
    return f"{named} {seems} better than {control}, and best or within {question.size} of the best"
