"""What trials say about the phone, its home and the rule between them. Pure.

Every system is judged on the same cases and the same trials: a case that a system keeps counts as
the phone did, any other as home did. Intervals are percentile bootstrap intervals over cases.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, median
from typing import TYPE_CHECKING, Final, TypeAlias

from homing_agent.calibration.calibrate import group_reports
from homing_agent.calibration.guarantee import DELTA, lower_bound, upper_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from homing_agent.calibration.result import GroupReport

    Figure: TypeAlias = Callable[[Sequence["Judged"]], float]

_ROUNDS: Final = 2000
_LEVEL: Final = 0.95
_BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, its trials judged by the labels.

    Attributes:
        id: of the case.
        kind: of the case.
        group: `calls`, `questions` or `words`: what the phone would do.
        score: chance of being right that the rule gives; negative where a hard rule sends it home.
        plain: the model's own probability of its tool's name or of its words; negative if unknown.
        phone: whether the phone is right.
        home: whether the case is right once it has left the phone; None if home was not tried.
        phone_ms: time of the phone's first token; negative if there was none.
        home_ms: the same at home.
    """

    id: str
    kind: str
    group: str
    score: float
    plain: float
    phone: bool
    home: bool | None
    phone_ms: float
    home_ms: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Report:
    """Figures, shares in [0, 1].

    Attributes:
        cases: how many.
        figures: by name.
        kinds: of each kind of request: cases, right on the phone, kept, of these right.
        groups: of each kind of action that is kept.
        curve: share kept and error rate among them, from the surest case on.
        accuracy: share escalated and share right in the end, from none to all; empty without home.
        reliability: mean chance given, share right and cases, by tenths of the chance.
    """

    cases: int
    figures: Mapping[str, Interval]
    kinds: Mapping[str, tuple[int, int, int, int]]
    groups: Mapping[str, GroupReport]
    curve: tuple[tuple[float, float], ...]
    accuracy: tuple[tuple[float, float], ...]
    reliability: tuple[tuple[float, float, int], ...]


def report(judged: Sequence[Judged], keep_from: float) -> Report:
    """The figures.

    Args:
        judged: at least one case.
        keep_from: the rule's threshold.
    """
    systems = _systems(judged, keep_from)
    kept = [one for one in judged if one.score >= keep_from]
    wrong = sum(not one.phone for one in kept)
    figures = {name: _interval(judged, figure) for name, figure in systems.items()}
    figures["kept_error"] = Interval(
        wrong / len(kept) if kept else 0.0,
        lower_bound(wrong, len(kept), DELTA / 2) if kept else 0.0,
        upper_bound(wrong, len(kept), DELTA / 2) if kept else 1.0,
    )
    return Report(
        cases=len(judged),
        figures=figures,
        kinds=_kinds(judged, keep_from),
        groups=group_reports([(one.group, one.phone) for one in kept], DELTA),
        curve=_curve(judged),
        accuracy=_accuracy(judged) if all(one.home is not None for one in judged) else (),
        reliability=_reliability(judged),
    )


def _systems(judged: Sequence[Judged], keep_from: float) -> dict[str, Figure]:
    def kept(one: Judged) -> bool:
        return one.score >= keep_from

    def phone(cases: Sequence[Judged]) -> float:
        return fmean(one.phone for one in cases)

    def ours(cases: Sequence[Judged]) -> float:
        return _routed(cases, kept)

    found: dict[str, Figure] = {
        "phone_alone": phone,
        "kept_share": lambda cases: fmean(kept(one) for one in cases),
        "augrc": _augrc,
        "first_token_phone_ms": lambda cases: _middle([one.phone_ms for one in cases]),
    }
    if any(one.home is None for one in judged):
        return found
    share = fmean(kept(one) for one in judged)
    plain_from = _threshold_for([one.plain for one in judged], share)
    with_home: dict[str, Figure] = {
        "home_alone": lambda cases: fmean(bool(one.home) for one in cases),
        "ours": ours,
        "max_probability": lambda cases: _routed(cases, lambda one: one.plain >= plain_from),
        "random": lambda cases: _random(cases, share),
        "oracle": lambda cases: _oracle(cases, share),
        "gap_closed": _gap_over_all_shares,
        "gap_closed_at_threshold": lambda cases: _gap(cases, kept),
        "home_right_where_phone_wrong": _rescued,
        "with_home_over_alone": lambda cases: _ratio(ours(cases), phone(cases)),
        "first_token_home_ms": lambda cases: _middle([one.home_ms for one in cases]),
    }
    return found | with_home


def _routed(cases: Sequence[Judged], keeps: Callable[[Judged], bool]) -> float:
    return fmean(one.phone if keeps(one) else bool(one.home) for one in cases)


def _random(cases: Sequence[Judged], share: float) -> float:
    """Accuracy if each case stays with this chance, whatever it is."""
    return fmean(share * one.phone + (1 - share) * bool(one.home) for one in cases)


def _oracle(cases: Sequence[Judged], share: float) -> float:
    """Accuracy if the same share stays, chosen by who knows the labels."""
    gains = sorted((one.phone - bool(one.home) for one in cases), reverse=True)
    stay = round(share * len(cases))
    return fmean(bool(one.home) for one in cases) + sum(gains[:stay]) / len(cases)


def _gap(cases: Sequence[Judged], keeps: Callable[[Judged], bool]) -> float:
    share = fmean(keeps(one) for one in cases)
    low, high = _random(cases, share), _oracle(cases, share)
    ours = _routed(cases, keeps)
    return (ours - low) / (high - low) if high > low else 0.0


def _gap_over_all_shares(cases: Sequence[Judged]) -> float:
    """The same without a threshold: the areas between the curves over all shares that stay.

    As the average performance gap recovered of RouteLLM (arXiv:2406.18665), but against the oracle,
    since two models together can be better than either.
    """
    gains = [one.phone - bool(one.home) for one in cases]
    ordered = sorted(cases, key=lambda one: -one.score)
    ours = list(accumulate(one.phone - bool(one.home) for one in ordered))
    best = list(accumulate(sorted(gains, reverse=True)))
    slope = sum(gains) / len(cases)
    chance = [slope * (number + 1) for number in range(len(cases))]
    area = sum(best) - sum(chance)
    return (sum(ours) - sum(chance)) / area if area > 0 else 0.0


def _rescued(cases: Sequence[Judged]) -> float:
    wrong = [bool(one.home) for one in cases if not one.phone]
    return fmean(wrong) if wrong else 0.0


def _ratio(over: float, under: float) -> float:
    return over / under if under else 0.0


def _middle(values: Sequence[float]) -> float:
    known = [value for value in values if value >= 0]
    return median(known) if known else -1.0


def _threshold_for(scores: Sequence[float], share: float) -> float:
    """A threshold that about this share of the scores reaches."""
    ordered = sorted(scores, reverse=True)
    stay = round(share * len(ordered))
    return ordered[stay - 1] if stay else float("inf")


def _interval(judged: Sequence[Judged], figure: Figure) -> Interval:
    chance = random.Random(20260318)  # noqa: S311  # a bootstrap, the same each time
    found = sorted(figure(chance.choices(judged, k=len(judged))) for _ in range(_ROUNDS))
    tail = int((1 - _LEVEL) / 2 * _ROUNDS)
    return Interval(figure(judged), found[tail], found[-tail - 1])


def _kinds(judged: Sequence[Judged], keep_from: float) -> dict[str, tuple[int, int, int, int]]:
    counts: dict[str, Counter[str]] = {}
    for one in judged:
        count = counts.setdefault(one.kind, Counter())
        kept = one.score >= keep_from
        count.update(cases=1, right=one.phone, kept=kept, kept_right=kept and one.phone)
    return {
        kind: (count["cases"], count["right"], count["kept"], count["kept_right"])
        for kind, count in sorted(counts.items())
    }


def _curve(judged: Sequence[Judged]) -> tuple[tuple[float, float], ...]:
    wrong = 0
    points: list[tuple[float, float]] = []
    for count, one in enumerate(sorted(judged, key=lambda one: -one.score), 1):
        wrong += not one.phone
        points.append((count / len(judged), wrong / count))
    return tuple(points)


def _augrc(judged: Sequence[Judged]) -> float:
    """Area under the generalized risk-coverage curve (arXiv:2407.01032): lower is better."""
    wrong, area = 0, 0.0
    for one in sorted(judged, key=lambda one: -one.score):
        wrong += not one.phone
        area += wrong / len(judged)
    return area / len(judged)


def _accuracy(judged: Sequence[Judged]) -> tuple[tuple[float, float], ...]:
    ordered = sorted(judged, key=lambda one: one.score)
    right = sum(one.phone for one in ordered)
    points = [(0.0, right / len(ordered))]
    for count, one in enumerate(ordered, 1):
        right += bool(one.home) - one.phone
        points.append((count / len(ordered), right / len(ordered)))
    return tuple(points)


def _reliability(judged: Sequence[Judged]) -> tuple[tuple[float, float, int], ...]:
    bins: list[list[Judged]] = [[] for _ in range(_BINS)]
    for one in judged:
        if one.score >= 0:
            bins[min(int(one.score * _BINS), _BINS - 1)].append(one)
    return tuple(
        (fmean(one.score for one in some), fmean(one.phone for one in some), len(some))
        for some in bins
        if some
    )
