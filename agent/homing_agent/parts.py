"""What the agent is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_agent.limits import Limits
from homing_agent.prompts import DEFAULT_PROMPTS, Prompts
from homing_agent.retrieval import Bm25Retriever, ToolRetriever
from homing_agent.routing.decide import DEFAULT_RULES, Rules

if TYPE_CHECKING:
    from homing_core.clock import Clock
    from homing_inference.engine import Engine

    from homing_agent.calibration.book import Calibrations
    from homing_agent.journal.base import Journal
    from homing_agent.ports import HomeJobs, Homes, Signer
    from homing_agent.registry import Registry


@dataclass(frozen=True, slots=True)
class Parts:
    """The agent's collaborators.

    Attributes:
        engine: the phone's own model.
        registry: the phone's tools.
        journal: what is remembered.
        homes: the way to the nodes.
        signer: the device's key.
        clock: where time comes from.
        rules: what routing decides by.
        limits: how much a request may take.
        prompts: what the models are told about themselves.
        jobs: tools of the nodes; None where there are none.
        calibrations: learned rules that are known; None where there are none.
        retriever: finds the likely ones among many tools.
    """

    engine: Engine
    registry: Registry
    journal: Journal
    homes: Homes
    signer: Signer
    clock: Clock
    rules: Rules = field(default=DEFAULT_RULES)
    limits: Limits = field(default_factory=Limits)
    prompts: Prompts = DEFAULT_PROMPTS
    jobs: HomeJobs | None = None
    calibrations: Calibrations | None = None
    retriever: ToolRetriever = field(default_factory=Bm25Retriever)
