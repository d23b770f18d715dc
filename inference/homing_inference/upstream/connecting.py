"""Asks a server what it serves."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from homing_core.errors import ConfigError, InvalidDataError, UnavailableError

from homing_inference.upstream.faults import AnsweredError
from homing_inference.upstream.patience import Patience
from homing_inference.upstream.served import (
    Kind,
    Served,
    read_lm_studio,
    read_models,
    read_ollama,
    read_props,
)

if TYPE_CHECKING:
    from homing_inference.upstream.server import UpstreamServer
    from homing_inference.upstream.transport import Transport

_NO_API = frozenset({404, 405, 501})


async def ask_what_it_serves(transport: Transport, server: UpstreamServer) -> Served:
    """Choose the model and learn about it.

    Raises:
        ConfigError: no OpenAI-compatible API there, or no such model, or several.
        RefusedError: the key is refused.
        UnavailableError: it cannot be reached, or still loads its model.
        InvalidDataError: what it says cannot be read.
    """
    patience = Patience()
    try:
        body, headers = await transport.get("/v1/models", patience)
    except AnsweredError as answer:
        if answer.status in _NO_API:
            msg = f"there is no OpenAI-compatible server at {transport.place}"
            raise ConfigError(msg, "Check url; /v1/models is asked for behind it.") from None
        raise answer.error from None
    served = read_models(body, server.model, transport.place, headers.get("server", ""))
    if served.kind.has_health:
        await _check_health(transport, patience)
    found: dict[str, Any] = {}
    match served.kind:
        case Kind.LLAMA_SERVER:
            found = read_props(served, await _perhaps_get(transport, "/props", patience))
        case Kind.OLLAMA:
            shown = await _perhaps_post(transport, "/api/show", {"model": served.model}, patience)
            found = read_ollama(served, shown, await _perhaps_get(transport, "/api/ps", patience))
        case Kind.LM_STUDIO:
            listed = await _perhaps_get(transport, "/api/v0/models", patience)
            found = read_lm_studio(served, listed)
        case _:
            pass
    return dataclasses.replace(served, **found)


async def _check_health(transport: Transport, patience: Patience) -> None:
    try:
        await transport.get("/health", patience)
    except AnsweredError as answer:
        if answer.status >= 500:  # noqa: PLR2004  # HTTP's own class
            msg = f"the model server at {transport.place} is not ready"
            raise UnavailableError(msg, "It may still load its model; try again.") from None
    except InvalidDataError:
        pass  # vLLM's answer is empty


async def _perhaps_get(transport: Transport, path: str, patience: Patience) -> object:
    try:
        body, _ = await transport.get(path, patience)
    except (AnsweredError, InvalidDataError):
        return None
    return body


async def _perhaps_post(
    transport: Transport, path: str, body: dict[str, Any], patience: Patience
) -> object:
    try:
        return await transport.post(path, body, patience)
    except (AnsweredError, InvalidDataError):
        return None
