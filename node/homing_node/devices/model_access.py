"""Which models a device may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from homing_core.errors import NotFoundError
from homing_core.limits import may_use_model

if TYPE_CHECKING:
    from homing_core.access import Limits
    from homing_core.generation import GenerateRequest


class ModelNames(Protocol):
    """What a node serves, by name; see `homing_node.models.pool.ModelPool`."""

    def names(self, model: str) -> tuple[str, ...]:
        """Names by which this model may be asked for; raises `NotFoundError`."""
        ...

    def all_names(self) -> tuple[tuple[str, ...], ...]:
        """The same of every model, the default first."""
        ...

    def context_tokens(self, model: str) -> int:
        """Prompt and answer together; 0 until it is known. Raises `NotFoundError`."""
        ...


def check_model(limits: Limits, request: GenerateRequest, models: ModelNames) -> None:
    """Raises `NotFoundError` if the device may not use the model or the adapter.

    Whoever may not use all models is not told which others there are: one that exists and one that
    does not are refused with the same words.
    """
    if not limits.models:
        return
    try:
        allowed = may_use_model(limits, *models.names(request.model))
    except NotFoundError:
        allowed = False
    if not allowed:
        msg = "that model is not served to this device"
        if not request.model:
            msg = "this device may not use the node's default model"
        mine = [names[0] for names in models.all_names() if may_use_model(limits, *names)]
        hint = f"It may use: {', '.join(mine)}." if mine else "Ask the node's owner."
        raise NotFoundError(msg, hint)
    if request.adapter and not may_use_model(limits, request.adapter):
        msg = "that adapter is not served to this device"
        raise NotFoundError(msg, "Leave it out, or ask the node's owner.")
