from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import IntegrityError, NotFoundError, UnavailableError, UsageError
from homing_inference.catalog.fake_depot import FakeDepot
from homing_inference.catalog.hub import HubSource
from homing_inference.catalog.models import (
    Converted,
    HubFile,
    ModelEntry,
    ModelRole,
    WheelParts,
)
from homing_inference.catalog.resolve import Resolver
from homing_inference.catalog.testing import FakeSource, gguf_bytes

if TYPE_CHECKING:
    from homing_inference.catalog.store import Store

OWN = gguf_bytes(64)
BASE = gguf_bytes(64, filler=1)
CATALOG = (
    ModelEntry("botpsy-0.8b", "Q4_K_M", "BotPsy 0.8B", "none", HubFile("a/b", "*q4*")),
    ModelEntry("botpsy-0.8b", "BF16", "BotPsy 0.8B", "none", HubFile("a/b", "*bf16*")),
    ModelEntry(
        "stand-in-0.5b",
        "Q4_K_M",
        "Stand-in",
        "none",
        WheelParts("x", 1, "1"),
        size=len(BASE),
        sha256=hashlib.sha256(BASE).hexdigest(),
        stand_in=True,
    ),
    ModelEntry(
        "stand-in-0.5b",
        "BF16",
        "Stand-in",
        "none",
        Converted("stand-in-0.5b:q4_k_m", 32),
        stand_in=True,
    ),
)
DOWN = UnavailableError("The Hugging Face hub cannot be reached", "Check the connection.")


class World:
    """A resolver over fakes."""

    def __init__(self, store: Store, *, offline: bool = False) -> None:
        self.hub = FakeSource({"botpsy-0.8b:q4_k_m": OWN, "botpsy-0.8b:bf16": OWN})
        self.index = FakeSource({"stand-in-0.5b:q4_k_m": BASE})
        self.quantizer = FakeSource({"stand-in-0.5b:bf16": OWN})
        self.resolver = Resolver(
            store,
            catalog=CATALOG,
            sources={HubFile: self.hub, WheelParts: self.index, Converted: self.quantizer},
            offline=offline,
        )


@pytest.mark.parametrize(
    ("role", "stand_in", "name"),
    [
        ("phone", False, "botpsy-0.8b:q4_k_m"),
        ("node", False, "botpsy-0.8b:bf16"),
        ("phone", True, "stand-in-0.5b:q4_k_m"),
        ("node", True, "stand-in-0.5b:bf16"),
    ],
)
async def test_each_role_has_its_model(
    store: Store,
    role: ModelRole,
    stand_in: bool,  # noqa: FBT001  # a parameter of the test
    name: str,
) -> None:
    file = await World(store).resolver.ensure(None, allow_stand_in=stand_in, role=role)
    assert file.name == name
    assert file.stand_in is stand_in
    assert file.quantization == name.split(":")[1].upper()
    assert file.path.is_file()


async def test_a_present_model_is_not_fetched_again(store: Store) -> None:
    world = World(store)
    first = await world.resolver.ensure(None, allow_stand_in=False, role="phone")
    world.hub.error = DOWN
    assert await world.resolver.ensure(None, allow_stand_in=False, role="phone") == first
    assert len(world.hub.fetched) == 1


@pytest.mark.parametrize("allow_stand_in", [True, False])
async def test_a_hub_that_is_down_names_the_option_and_takes_no_other_model(
    store: Store,
    allow_stand_in: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    world = World(store)
    world.hub.error = DOWN
    with pytest.raises(UnavailableError) as caught:
        await world.resolver.ensure("botpsy-0.8b", allow_stand_in=allow_stand_in, role="phone")
    assert "BotPsy 0.8B" in caught.value.what
    assert "cannot be reached" in caught.value.what
    assert "--stand-in" in caught.value.hint
    assert world.index.fetched == []


async def test_a_real_hub_that_is_down_is_said_the_same_way(store: Store) -> None:
    with FakeDepot() as gone:
        endpoint = gone.hub_endpoint
    resolver = Resolver(store, sources={HubFile: HubSource(endpoint)})
    with pytest.raises(UnavailableError, match=r"cannot be reached.*--stand-in"):
        await resolver.ensure(None, allow_stand_in=False, role="phone")


async def test_a_stand_in_by_name_still_needs_the_word(store: Store) -> None:
    world = World(store)
    await world.resolver.ensure(None, allow_stand_in=True, role="phone")
    with pytest.raises(UsageError, match="--stand-in"):
        await world.resolver.ensure("stand-in-0.5b:q4_k_m", allow_stand_in=False, role="phone")


async def test_offline_uses_what_is_here_and_asks_nobody(store: Store) -> None:
    offline = World(store, offline=True)
    with pytest.raises(UnavailableError, match=r"offline.*--stand-in"):
        await offline.resolver.ensure(None, allow_stand_in=False, role="phone")
    with pytest.raises(UnavailableError, match="offline"):
        await offline.resolver.ensure(None, allow_stand_in=True, role="phone")
    assert offline.hub.fetched == offline.index.fetched == []
    await World(store).resolver.ensure(None, allow_stand_in=False, role="phone")
    file = await offline.resolver.ensure(None, allow_stand_in=False, role="phone")
    assert file.path.is_file()


async def test_an_unknown_model_names_close_ones(store: Store) -> None:
    with pytest.raises(NotFoundError, match=r"botpsy-0\.8b.*homing models"):
        await World(store).resolver.ensure("botpsi", allow_stand_in=False, role="phone")


async def test_a_damaged_model_is_said_once_and_then_fetched_anew(store: Store) -> None:
    world = World(store)
    file = await world.resolver.ensure(None, allow_stand_in=True, role="phone")
    file.path.write_bytes(BASE[:-1])
    with pytest.raises(IntegrityError, match=r"truncated.*moved to.*again"):
        await world.resolver.ensure(None, allow_stand_in=True, role="phone")
    again = await world.resolver.ensure(None, allow_stand_in=True, role="phone")
    assert again.sha256 == file.sha256
    assert again.path.read_bytes() == BASE


async def test_many_at_once_fetch_once(store: Store) -> None:
    world = World(store)
    files = await asyncio.gather(
        *(world.resolver.ensure(None, allow_stand_in=False, role="phone") for _ in range(5))
    )
    assert len({file.path for file in files}) == 1
    assert world.hub.fetched == ["botpsy-0.8b:q4_k_m"]
