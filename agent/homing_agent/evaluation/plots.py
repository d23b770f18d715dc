"""A report's pictures, as SVG, by matplotlib (the extra `plots`)."""

from __future__ import annotations

import importlib
import importlib.util
import io
from typing import TYPE_CHECKING, Any, Final

from homing_core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_agent.evaluation.report import Judged, Report

_SIZE: Final = (6.4, 4.8)
_PACKAGE: Final = "matplotlib"


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec(_PACKAGE) is not None


def drawn(found: Report, judged: Sequence[Judged]) -> dict[str, bytes]:
    """The pictures, by file name.

    Args:
        found: the figures.
        judged: what they were counted from.

    Returns:
        `risk-coverage.svg`, `reliability.svg`, `latency.svg` and, with a home,
        `accuracy-escalated.svg`.

    Raises:
        NotFoundError: matplotlib is not installed.
    """
    if not can_draw():
        msg = "pictures need matplotlib, which is not installed"
        raise NotFoundError(msg, "pip install 'homing[plots]'")
    pictures: dict[str, Callable[[Any], None]] = {
        "risk-coverage.svg": lambda axes: _risk(axes, found),
        "reliability.svg": lambda axes: _reliability(axes, found),
        "latency.svg": lambda axes: _latency(axes, judged),
    }
    if found.accuracy:
        pictures["accuracy-escalated.svg"] = lambda axes: _accuracy(axes, found)
    return {name: _picture(draw) for name, draw in pictures.items()}


def _picture(draw: Callable[[Any], None]) -> bytes:
    figure: Any = importlib.import_module("matplotlib.figure").Figure(
        figsize=_SIZE, layout="constrained"
    )
    draw(figure.subplots())
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _risk(axes: Any, found: Report) -> None:  # noqa: ANN401  # matplotlib says little of its types
    shares = [share for share, _ in found.curve]
    axes.plot(shares, [wrong for _, wrong in found.curve], label="by the rule")
    everything = found.curve[-1][1] if found.curve else 0.0
    axes.axhline(everything, linestyle=":", color="gray", label="whatever is kept, at random")
    kept, error = found.figures["kept_share"].value, found.figures["kept_error"]
    low, high = error.value - error.low, error.high - error.value
    if kept:
        axes.errorbar([kept], [error.value], [[low], [high]], fmt="o", label="at the threshold")
    axes.set(xlabel="share kept on the phone", ylabel="wrong among these", xlim=(0, 1), ylim=(0, 1))
    axes.legend()


def _accuracy(axes: Any, found: Report) -> None:  # noqa: ANN401  # as above
    axes.plot(*zip(*found.accuracy, strict=True), label="by the rule")
    ends = [found.accuracy[0], found.accuracy[-1]]
    axes.plot(*zip(*ends, strict=True), linestyle=":", color="gray", label="at random")
    escalated = 1.0 - found.figures["kept_share"].value
    for name in ("ours", "max_probability", "oracle"):
        axes.plot([escalated], [found.figures[name].value], "o", label=name.replace("_", " "))
    axes.set(xlabel="share escalated", ylabel="right in the end", xlim=(0, 1), ylim=(0, 1))
    axes.legend()


def _reliability(axes: Any, found: Report) -> None:  # noqa: ANN401  # as above
    axes.plot([0, 1], [0, 1], linestyle=":", color="gray", label="as it should be")
    chances = [chance for chance, _, _ in found.reliability]
    sizes = [10 + 2 * cases for _, _, cases in found.reliability]
    axes.scatter(chances, [right for _, right, _ in found.reliability], sizes, label="tenths")
    axes.set(xlabel="chance that the rule gives", ylabel="right", xlim=(0, 1), ylim=(0, 1))
    axes.legend()


def _latency(axes: Any, judged: Sequence[Judged]) -> None:  # noqa: ANN401  # as above
    places = {
        "phone": sorted(one.phone_ms for one in judged if one.phone_ms >= 0),
        "home": sorted(one.home_ms for one in judged if one.home_ms >= 0),
    }
    for name, times in places.items():
        if times:
            shares = [(number + 1) / len(times) for number in range(len(times))]
            axes.plot(times, shares, label=name)
    axes.set(xlabel="first token, ms", ylabel="share of the requests", ylim=(0, 1))
    axes.legend()
