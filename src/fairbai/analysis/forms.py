"""An analysis as a dictionary, ready for JSON."""

import math
from typing import TYPE_CHECKING, Any

from fairbai.analysis import sentences
from fairbai.analysis.drift import Change
from fairbai.analysis.evidence import Look, Reached
from fairbai.analysis.log import moment

if TYPE_CHECKING:
    from fairbai.analysis.analysis import Analysis


def as_dict(found: "Analysis") -> dict[str, Any]:
    """All of it; docs/analysis.md describes the keys."""
    return {
        "source": found.source,
        "trials": found.trials,
        "delta": found.delta,
        "question": {"goal": found.question.goal, **found.question.to_dict(found.arms.labels)},
        "family": {
            **found.choice.family.to_dict(),
            "guessed": found.choice.guessed,
            "reason": found.choice.reason,
        },
        "answers": sentences.answers(found),
        "guarantee": found.guarantee,
        "conditions": sentences.guarantee(found),
        "leader": found.leader,
        "answer": found.answer,
        "decided": found.decided,
        "decided_after": found.decided_after,
        "confidence": found.confidence,
        "candidates": None if found.candidates is None else list(found.candidates),
        "arms": _arms(found),
        "evidence": _evidence(found),
        "drift_proof": _drift_proof(found),
        "sample_ratio": _sample_ratio(found),
        "drift": _drift(found),
        "doubts": [vars(doubt).copy() for doubt in found.doubts],
        "hints": list(found.hints),
        "notes": list(found.notes),
    }


def _arms(found: "Analysis") -> list[dict[str, Any]]:
    arms, last = found.arms, found.standing.last.leader
    return [
        {
            "arm": label,
            "trials": int(arms.trials[arm]),
            "share": float(arms.trials[arm]) / found.trials,
            "mean": plain(float(arms.means[arm])),
            "interval": [plain(float(end)) for end in arms.intervals[arm]],
            "leads": arm == last,
            "candidate": None if found.candidates is None else arm in found.standing.candidates,
        }
        for arm, label in enumerate(arms.labels)
    ]


def _evidence(found: "Analysis") -> dict[str, Any]:
    standing = found.standing
    return {
        "rules": [rule.to_dict() for rule in standing.rules],
        "score": plain(standing.last.score),
        "needed": standing.level,
        "percent": part(standing.last.score, standing.level),
        "first_sufficed": _reached(found, standing.reached),
        **_path(found, standing.looks, standing.level),
    }


def _path(found: "Analysis", looks: tuple[Look, ...], level: float) -> dict[str, Any]:
    """The evidence as it grew."""
    return {
        "path": {
            "trials": [look.trial for look in looks],
            "times": None if found.times is None else [moment(float(time), found.clock) for time in found.times],
            "percent": [part(look.score, level) for look in looks],
            "leaders": [found.arms.labels[look.leader] for look in looks],
        }
    }


def _reached(found: "Analysis", reached: Reached | None) -> dict[str, Any] | None:
    if reached is None:
        return None
    return {"trial": reached.trial, "time": found.time_of(reached.trial), "arm": found.arms.labels[reached.arm]}


def _drift_proof(found: "Analysis") -> dict[str, Any] | None:
    proof = found.drift_proof
    if proof is None:
        return None
    score = proof.looks[-1].score
    path = _path(found, proof.looks, proof.level)["path"]
    path["averages"] = [[plain(float(one)) for one in past.estimates] for past in proof.paths]
    path["bands"] = [past.intervals.tolist() for past in proof.paths]
    return {
        "stopping": proof.stopping.to_dict(),
        "best_on_average": found.best_on_average,
        "confidence": found.drift_proof_confidence,
        "score": plain(score),
        "needed": proof.level,
        "percent": part(score, proof.level),
        "first_sufficed": _reached(found, proof.reached),
        "floors": proof.least.tolist(),
        "floors_declared": proof.declared,
        "averages": [float(one) for one in proof.last.estimates],
        "intervals": proof.last.intervals.tolist(),
        "path": path,
    }


def _sample_ratio(found: "Analysis") -> dict[str, Any] | None:
    ratio = found.sample_ratio
    if ratio is None:
        return None
    return {
        "mismatch": ratio.mismatch,
        "against": ratio.source,
        "shares": None if ratio.shares is None else ratio.shares.tolist(),
        "ratios": ratio.ratios.tolist(),
        "log10_e_value": ratio.log_e_value / math.log(10.0),
        "p_value": ratio.p_value,
        "level": ratio.level,
        "evident_after": ratio.found,
        "evident_at": None if ratio.found is None else found.time_of(ratio.found),
        "log10_path": [value / math.log(10.0) for value in ratio.path],
        "sentences": sentences.sample_ratio(found),
    }


def _drift(found: "Analysis") -> dict[str, Any] | None:
    check = found.drift
    if check is None:
        return None
    return {
        "status": "observed",
        "drifted": check.drifted,
        "p_value": check.p_value,
        "level": _change(found, check.level),
        "arms": [_change(found, change) for change in check.arms],
        "shares_p_value": check.shares,
        "shares_by_half": check.shares_by_half.tolist(),
        "means_by_part": [[plain(float(mean)) for mean in row] for row in check.means_by_part],
        "parts_end_after": list(check.ends),
        "sentences": sentences.drift(found),
    }


def _change(found: "Analysis", change: Change) -> dict[str, Any]:
    arm = None if change.arm is None else found.arms.labels[change.arm]
    return {
        "arm": arm,
        "first_half": plain(change.first),
        "second_half": plain(change.second),
        "p_value": change.p_value,
    }


def part(score: float, level: float) -> float:
    """Evidence in per cent of what is needed; none is 0."""
    return 100.0 * max(0.0, score) / level


def plain(value: float) -> float | None:
    """A number, or None where JSON has none."""
    return value if math.isfinite(value) else None
