"""Learns a second opinion from labelled requests.

Ridge-penalised multinomial logistic regression by gradient descent with momentum (Hastie,
Tibshirani, Friedman, The Elements of Statistical Learning, 4.4), weights kept as signed bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from homing_agent.evaluation.cases import Answers, Asks, Calls, Declines
from homing_agent.examples import EXAMPLES
from homing_agent.routing.opinion import (
    ANSWER,
    ASK,
    BUCKETS,
    DECLINE,
    HOME,
    NO_OPINION,
    Opinion,
    buckets,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from homing_agent.evaluation.cases import Action, Case

FOLDS: Final = 5
_PENALTY: Final = 0.02
_STEPS: Final = 300
_RATE: Final = 2.0
_MOMENTUM: Final = 0.9
_BYTE: Final = 127


def learn_opinion(cases: Sequence[Case]) -> Opinion:
    """The classifier of these cases and of the examples in the phone's prompt."""
    requests = [case.request for case in cases]
    wanted = [_actions(case) for case in cases]
    for example in EXAMPLES:
        if example.tool:
            requests.append(example.request)
            wanted.append((example.tool,))
    actions = tuple(sorted({action for some in wanted for action in some}))
    if not actions:
        return NO_OPINION
    values = np.stack([_vector(request) for request in requests])
    targets = np.zeros((len(requests), len(actions)))
    for row, some in enumerate(wanted):
        for action in some:
            targets[row, actions.index(action)] = 1 / len(some)
    return _kept(actions, *_descend(values, targets))


def opinions_of_others(cases: Sequence[Case]) -> dict[str, Mapping[str, float]]:
    """Of each case, by id, the chances by a classifier that has not seen it.

    What a rule is fitted on must not look surer than what it will meet.
    """
    found: dict[str, Mapping[str, float]] = {}
    for fold in range(FOLDS):
        asked = cases[fold::FOLDS]
        ids = {case.id for case in asked}
        opinion = learn_opinion([case for case in cases if case.id not in ids])
        found |= {case.id: opinion.chances(case.request) for case in asked}
    return found


def _actions(case: Case) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_action, case.accepted)))


def _action(action: Action) -> str:
    match action:
        case Calls():
            return action.tool
        case Asks():
            return ASK
        case Answers():
            return ANSWER
        case Declines():
            return DECLINE
        case _:
            return HOME


def _vector(request: str) -> NDArray[np.float64]:
    places = list(buckets(request))
    vector = np.zeros(BUCKETS)
    vector[places] = 1 / np.sqrt(max(len(places), 1))
    return vector


def _descend(
    values: NDArray[np.float64], targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights, shape (BUCKETS, actions), and biases, shape (actions,).

    Weights that begin at zero stay sums of the requests' vectors, so each step moves the requests'
    shares in them, which are far fewer than the weights.
    """
    alike = values @ values.T
    count = len(values)
    shares = np.zeros(targets.shape)
    bias = np.zeros(targets.shape[1])
    speed, bias_speed = np.zeros_like(shares), np.zeros_like(bias)
    for _ in range(_STEPS):
        totals = alike @ shares + bias
        masses = np.exp(totals - totals.max(axis=1, keepdims=True))
        miss = masses / masses.sum(axis=1, keepdims=True) - targets
        speed = _MOMENTUM * speed - _RATE / count * (miss + _PENALTY * shares)
        bias_speed = _MOMENTUM * bias_speed - _RATE * miss.mean(axis=0)
        shares = shares + speed
        bias = bias + bias_speed
    return values.T @ shares, bias


def _kept(
    actions: tuple[str, ...], weights: NDArray[np.float64], bias: NDArray[np.float64]
) -> Opinion:
    scales = np.maximum(np.abs(weights).max(axis=0) / _BYTE, 1e-9)
    steps = np.rint(weights / scales).astype(np.int8)
    return Opinion(
        actions,
        tuple(float(value) for value in bias),
        tuple(float(value) for value in scales),
        steps.tobytes(),
    )
