"""A report as Markdown and as JSON. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonObject

    from homing_agent.evaluation.bfcl_running import BfclResult
    from homing_agent.evaluation.report import Interval, Report

_NAMES: Final = {
    "phone_alone": "right, phone alone",
    "home_alone": "right, home alone",
    "ours": "right, phone and home by the rule",
    "max_probability": "right, by the model's own probability",
    "random": "right, the same share escalated at random",
    "oracle": "right, the same share escalated by who knows the labels",
    "kept_share": "kept on the phone",
    "kept_error": "wrong among what is kept",
    "gap_closed": "of the gap between random and oracle, closed, over all shares",
    "gap_closed_at_threshold": "the same at the threshold",
    "with_home_over_alone": "right with home over phone alone",
    "home_right_where_phone_wrong": "home right where the phone is wrong",
    "augrc": "area under the generalized risk-coverage curve",
}
_TIMES: Final = {
    "first_token_phone_ms": "first token on the phone",
    "first_token_home_ms": "first token from home",
}
_RATIOS: Final = frozenset({"with_home_over_alone", "augrc"})


def figure_lines(found: Report) -> list[str]:
    """Name and value of every figure, as cells of a table."""
    lines = [
        f"| {words} | {_shown(name, found.figures[name])} |"
        for name, words in _NAMES.items()
        if name in found.figures
    ]
    return lines + [
        f"| {words} | {found.figures[name].value:.0f} ms |"
        for name, words in _TIMES.items()
        if name in found.figures and found.figures[name].value >= 0
    ]


def markdown(found: Report, title: str, lines: list[str]) -> str:
    """The whole report.

    Args:
        found: its figures.
        title: its heading.
        lines: what was evaluated, a line each.
    """
    kinds = [
        f"| {kind} | {cases} | {_part(right, cases)} | {_part(kept, cases)} |"
        f" {_part(kept_right, kept)} |"
        for kind, (cases, right, kept, kept_right) in found.kinds.items()
    ]
    groups = [
        f"| {name} | {one.kept} | {one.wrong} | {one.low:.0%} to {one.high:.0%} |"
        for name, one in found.groups.items()
    ]
    return "\n".join(
        [
            f"# {title}",
            "",
            *lines,
            "",
            "| figure | value (95% interval) |",
            "|---|---|",
            *figure_lines(found),
            "",
            "| kind of request | cases | right on the phone | kept | right of these |",
            "|---|---|---|---|---|",
            *kinds,
            "",
            "| kept | cases | wrong | error rate (90% interval) |",
            "|---|---|---|---|",
            *groups,
            "",
        ]
    )


def report_to_json(found: Report) -> JsonObject:
    """The figures, for scripts."""
    return {
        "cases": found.cases,
        "figures": {
            name: {"value": one.value, "low": one.low, "high": one.high}
            for name, one in found.figures.items()
        },
        "kinds": {
            kind: {"cases": cases, "right": right, "kept": kept, "kept_right": kept_right}
            for kind, (cases, right, kept, kept_right) in found.kinds.items()
        },
        "groups": {
            name: {"kept": one.kept, "wrong": one.wrong, "low": one.low, "high": one.high}
            for name, one in found.groups.items()
        },
        "risk_coverage": [list(point) for point in found.curve],
        "accuracy_escalated": [list(point) for point in found.accuracy],
        "reliability": [list(point) for point in found.reliability],
    }


def bfcl_lines(found: Mapping[str, BfclResult]) -> list[str]:
    """What was counted of BFCL, as a table."""
    rows = [
        f"| {name} | {one.cases} | {_share(one.right)} | {_share(one.valid)} |"
        for name, one in found.items()
    ]
    return [
        "| category | cases | right | calls that fit at once |",
        "|---|---|---|---|",
        *rows,
    ]


def bfcl_to_json(found: Mapping[str, BfclResult]) -> JsonObject:
    """The same, for scripts."""
    return {
        "categories": {
            name: {
                "cases": one.cases,
                "right": _interval_to_json(one.right),
                "valid": _interval_to_json(one.valid),
            }
            for name, one in found.items()
        }
    }


def _interval_to_json(one: Interval | None) -> JsonObject | None:
    return None if one is None else {"value": one.value, "low": one.low, "high": one.high}


def _share(one: Interval | None) -> str:
    return "-" if one is None else f"{one.value:.1%} ({one.low:.1%} to {one.high:.1%})"


def _shown(name: str, one: Interval) -> str:
    if name in _RATIOS:
        return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"
    return f"{one.value:.1%} ({one.low:.1%} to {one.high:.1%})"


def _part(some: int, of: int) -> str:
    return f"{some / of:.0%}" if of else "-"
