"""One request end to end, when it leaves the phone or would have to."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.conversation import content_hash, estimate_tokens
from homing_agent.events import Note, RouteChosen
from homing_agent.journal.base import GenerationRecord, RequestRecord
from homing_agent.limits import Limits
from homing_agent.request import RoutePreference
from homing_agent.testing import (
    FAKE_NODE,
    FakeConsent,
    FakeHomes,
    FakeRemote,
    FakeTool,
    MemoryJournal,
    Script,
    fake_spec,
)
from homing_agent.tool import ToolOutput
from homing_core.approvals import Verdict
from homing_core.errors import (
    ConflictError,
    InvalidDataError,
    OverloadedError,
    RefusedError,
    TooLongError,
    UnavailableError,
    UnpairedError,
)
from homing_core.generation import Done, Failed, FinishReason, TextDelta, Thinking, ThinkingDelta
from homing_core.ids import DeviceId, new_conversation_id, new_generation_id
from homing_core.messages import Role, ToolResultPart
from homing_core.provenance import Sensitivity, Trust
from homing_core.tools import EffectClass, Place
from support.agent_world import (
    CALLS,
    FLUENT,
    HALTING,
    STOP,
    UNSURE,
    PlayedEngine,
    World,
    ask,
    call_event,
    calls,
    question,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME = RoutePreference.HOME
PHONE = RoutePreference.PHONE
PEER_NODE = DeviceId("f" * 64)
READ = replace(fake_spec("look", EffectClass.READ, idempotent=True), output_trust=Trust.TRUSTED)


def notes(events: Sequence[object]) -> list[str]:
    return [event.text for event in events if isinstance(event, Note)]


def away(world: World, remote: FakeRemote) -> World:
    world.homes = FakeHomes(remote)
    return world


async def test_a_halting_text_is_never_seen_and_home_answers() -> None:
    remote = FakeRemote([text("The capital |is Canberra.")])
    world = away(World(PlayedEngine([text("It is Syd|ney, maybe?", HALTING)])), remote)
    seen = await ask(world.agent(), question("capital of Australia?"))
    assert seen.text == "The capital is Canberra."
    answer = seen.answer
    assert (answer.place, answer.node, answer.model) == (Place.HOME, "home", "home-model")
    assert "unsure of its words" in answer.reason
    assert answer.exit_status == 0
    routes = [event for event in seen.events if isinstance(event, RouteChosen)]
    assert [(route.place, route.node) for route in routes] == [(Place.HOME, "home")]
    assert len(world.engine.cancelled) == 1


async def test_two_tools_that_looked_alike_send_the_call_home_before_anything_is_done() -> None:
    tool = FakeTool()
    remote = FakeRemote([text("Which of the two do you mean?")])
    world = away(World(PlayedEngine([calls(call_event("act", UNSURE))]), [tool]), remote)
    seen = await ask(world.agent(), question(allowed_tools=frozenset({"act"})))
    assert tool.calls == []
    assert seen.answer.reason == "two tools looked alike: 52% to 41%"
    assert seen.answer.confidence == pytest.approx(0.52)
    assert seen.answer.features["name_margin"] == 0.11


async def test_home_gets_the_conversation_not_the_failed_attempts() -> None:
    remote = FakeRemote([text("Here is what I found out.")])
    engine = PlayedEngine([calls(call_event("nonsense")), calls(call_event("nonsense"))])
    world = away(World(engine, [FakeTool()]), remote)
    seen = await ask(world.agent(), question("do it"))
    assert seen.answer.place is Place.HOME
    (request,) = remote.requests
    assert [message.role for message in request.messages] == [Role.SYSTEM, Role.USER]
    assert request.messages[0].text != engine.requests[0].messages[0].text
    assert [spec.name for spec in request.tools] == ["act"]
    assert request.thinking is Thinking.OFF


async def test_thinking_is_asked_of_home_and_shown_apart() -> None:
    remote = FakeRemote([(ThinkingDelta("let me see"), TextDelta("42"), STOP)])
    world = away(World(PlayedEngine([])), remote)
    seen = await ask(world.agent(), question(route=HOME, thinking=True))
    assert remote.requests[0].thinking is Thinking.ON
    assert ThinkingDelta("let me see") in seen.events
    assert seen.answer.text == "42"
    assert world.homes.needs[0].thinking


async def test_route_home_does_not_run_the_phones_model() -> None:
    world = away(World(PlayedEngine([])), FakeRemote([text("At home all is well.")]))
    seen = await ask(world.agent(), question(route=HOME))
    assert world.engine.requests == []
    assert seen.answer.reason == "you asked for home"


async def test_route_phone_never_looks_for_a_home() -> None:
    remote = FakeRemote([text("should not be asked")])
    world = away(World(PlayedEngine([text("Well, err, |perhaps this.", HALTING)])), remote)
    seen = await ask(world.agent(), question(route=PHONE))
    assert world.homes.needs == []
    assert seen.answer.place is Place.PHONE
    assert "you asked for the phone" in seen.answer.reason


async def test_phone_only_content_never_leaves_even_in_later_turns() -> None:
    remote = FakeRemote([text("should not be asked")])
    engine = PlayedEngine([text("Noted, and kept here."), text("Well, err, |perhaps.", HALTING)])
    world = away(World(engine), remote)
    agent, here = world.agent(), new_conversation_id()
    await ask(agent, question(conversation_id=here, sensitivity=Sensitivity.PHONE_ONLY))
    later = await ask(agent, question(conversation_id=here))
    assert (world.homes.needs, remote.requests) == ([], [])
    assert later.answer.place is Place.PHONE
    refused = await ask(agent, question(conversation_id=here, route=HOME))
    assert refused.answer.exit_status == 3
    assert remote.requests == []


async def test_how_far_the_data_may_travel_is_said_when_a_node_is_picked() -> None:
    remote = FakeRemote([text("First things first."), text("And then the second.")])
    world = away(World(PlayedEngine([])), remote)
    await ask(world.agent(), question(route=HOME))
    await ask(world.agent(), question(route=HOME, sensitivity=Sensitivity.ANY_PAIRED))
    assert [need.sensitivity for need in world.homes.needs] == [
        Sensitivity.HOME_ONLY,
        Sensitivity.ANY_PAIRED,
    ]


async def test_home_unreachable_is_an_honest_answer_of_the_phone() -> None:
    script = text("Perhaps it is |Sydney, I am not sure.", HALTING)
    world = World(PlayedEngine([script]), homes=FakeHomes(None, "no home is paired"))
    started = time.monotonic()
    seen = await ask(world.agent(), question("capital of Australia?"))
    assert time.monotonic() - started < 2
    assert seen.answer.exit_status == 0
    assert seen.answer.place is Place.PHONE
    assert seen.text == "Perhaps it is Sydney, I am not sure."
    assert "home cannot be reached: no home is paired" in seen.answer.reason
    assert any("home cannot be reached" in note for note in notes(list(seen.events)))
    assert len(world.engine.requests) == 1
    assert seen.answer.features["home_unreachable"] == 1.0


async def test_a_home_that_does_not_answer_is_not_waited_for() -> None:
    homes = FakeHomes(FakeRemote([]), delay=asyncio.Event())
    world = World(PlayedEngine([text("The phone it is, then.")]), homes=homes)
    started = time.monotonic()
    seen = await ask(world.agent(), question(route=HOME))
    assert time.monotonic() - started < 2
    assert seen.answer.place is Place.PHONE
    assert "no node answered within 1 s" in seen.answer.reason
    assert len(homes.needs) == 1


async def test_a_doubtful_act_without_home_is_put_to_the_person_with_the_doubt() -> None:
    tool = FakeTool()
    script = [calls(call_event("act", UNSURE))]
    person = FakeConsent(Verdict.DENY)
    await ask(World(PlayedEngine(script), [tool]).agent(), question(interactive=True), person)
    assert "two tools looked alike: 52% to 41%" in person.questions[0].reason
    allowed = await ask(
        World(PlayedEngine(script), [tool]).agent(), question(allowed_tools=frozenset({"act"}))
    )
    assert allowed.answer.exit_status == 0
    assert tool.calls == [{}]


async def test_home_calls_the_phones_tools_under_the_phones_rule() -> None:
    tool = FakeTool(act=lambda _: ToolOutput("set for nine", "Set for nine."))
    remote = FakeRemote([calls(call_event(text="tea")), text("I have set it for nine.")])
    world = away(World(PlayedEngine([]), [tool]), remote)
    person = FakeConsent()
    asked = question("tea", route=HOME, interactive=True)
    seen = await ask(world.agent(), asked, person)
    assert len(person.questions) == 1
    assert tool.calls == [{"text": "tea"}]
    assert seen.answer.text == "I have set it for nine."
    assert seen.answer.place is Place.HOME
    assert seen.answer.steps[0].place is Place.PHONE
    (part,) = remote.requests[1].messages[-1].parts
    assert isinstance(part, ToolResultPart)
    assert part.result.content == "set for nine"


@pytest.mark.attack
async def test_home_cannot_act_without_permission() -> None:
    tool = FakeTool()
    world = away(World(PlayedEngine([]), [tool]), FakeRemote([calls(call_event())]))
    seen = await ask(world.agent(), question(route=HOME))
    assert tool.calls == []
    assert seen.answer.exit_status == 3
    assert seen.answer.place is Place.HOME


async def test_a_home_that_did_it_and_says_nothing_ends_with_the_tools_words() -> None:
    remote = FakeRemote([calls(call_event("look")), (Done(FinishReason.STOP),)])
    world = away(World(PlayedEngine([]), [FakeTool(READ)]), remote)
    seen = await ask(world.agent(), question(route=HOME))
    assert seen.answer.text == "It is done."
    assert seen.answer.place is Place.HOME


async def test_wrong_calls_from_home_go_back_to_home() -> None:
    remote = FakeRemote([calls(call_event("nonsense")), text("That cannot be done here.")])
    world = away(World(PlayedEngine([]), [FakeTool()]), remote)
    seen = await ask(world.agent(), question(route=HOME))
    assert seen.answer.text == "That cannot be done here."
    assert seen.answer.steps[0].result is not None
    assert seen.answer.steps[0].result.is_error


@pytest.mark.parametrize(
    "trouble",
    [
        (UnavailableError("the line broke"),),
        (RefusedError("this device may not"),),
        (OverloadedError("too many wait"),),
        (Failed.from_error(UnavailableError("the model died")),),
        (Done(FinishReason.CANCELLED),),
        (STOP,),
    ],
)
async def test_a_home_that_fails_before_a_word_leaves_the_answer_to_the_phone(
    trouble: Script,
) -> None:
    remote = FakeRemote([trouble])
    world = away(World(PlayedEngine([text("The phone can say this.")])), remote)
    seen = await ask(world.agent(), question(route=HOME))
    assert seen.answer.text == "The phone can say this."
    assert seen.answer.place is Place.PHONE
    assert seen.answer.exit_status == 0
    assert seen.answer.reason.startswith(("home stopped answering", "home could not answer"))


@pytest.mark.parametrize(
    "trouble",
    [(UnavailableError("its model is down"),), (Failed.from_error(OverloadedError("full")),)],
)
async def test_a_home_that_fails_before_a_word_leaves_the_answer_to_a_peer(trouble: Script) -> None:
    peer = FakeRemote([text("A peer says this.")], name="Gina", place=Place.PEER, node=PEER_NODE)
    world = World(PlayedEngine([]))
    world.homes = FakeHomes(FakeRemote([trouble], name="Attic"), peer=peer)
    seen = await ask(world.agent(), question(route=HOME))
    answer = seen.answer
    assert (answer.text, answer.place, answer.node) == ("A peer says this.", Place.PEER, "Gina")
    assert "no home can answer it now, and it may go to a peer" in answer.reason
    assert any("Attic could not answer" in note and "Gina" in note for note in notes(seen.events))


async def test_what_both_a_home_and_a_peer_fail_at_is_for_the_phone() -> None:
    peer = FakeRemote([(UnavailableError("away"),)], place=Place.PEER, node=PEER_NODE, name="Gina")
    world = World(PlayedEngine([text("The phone can say this.")]))
    world.homes = FakeHomes(FakeRemote([(UnavailableError("down"),)]), peer=peer)
    seen = await ask(world.agent(), question(route=HOME))
    assert (seen.answer.place, seen.answer.text) == (Place.PHONE, "The phone can say this.")
    assert seen.answer.reason.startswith("Gina stopped answering: away")


async def test_a_refusal_of_home_is_not_carried_to_a_peer() -> None:
    peer = FakeRemote([text("A peer says this.")], place=Place.PEER, node=PEER_NODE)
    world = World(PlayedEngine([text("The phone can say this.")]))
    world.homes = FakeHomes(FakeRemote([(InvalidDataError("unreadable"),)]), peer=peer)
    seen = await ask(world.agent(), question(route=HOME))
    assert (seen.answer.place, peer.requests) == (Place.PHONE, [])


async def test_what_only_a_person_can_mend_is_said_with_how() -> None:
    world = World(PlayedEngine([text("The phone can say this.")]))
    gone = UnpairedError("Attic does not know this phone any more", "Pair it again.")
    world.homes = FakeHomes(problem=gone)
    seen = await ask(world.agent(), question(route=HOME))
    assert seen.answer.place is Place.PHONE
    assert any("the phone answers. Pair it again." in note for note in notes(seen.events))


async def test_a_home_lost_amid_the_text_is_gone_on_from_by_the_phone() -> None:
    remote = FakeRemote([(TextDelta("The tower stands in the old "), UnavailableError("broke"))])
    engine = PlayedEngine([(TextDelta("town of Pisa."), FLUENT, STOP)])
    seen = await ask(away(World(engine), remote).agent(), question(route=HOME))
    assert seen.text == seen.answer.text == "The tower stands in the old town of Pisa."
    assert engine.requests[0].continue_last
    assert engine.requests[0].messages[-1].text == "The tower stands in the old "
    assert any("goes on from here" in note for note in notes(list(seen.events)))


async def test_what_a_home_did_is_not_done_again_by_the_phone() -> None:
    tool = FakeTool()
    remote = FakeRemote([calls(call_event(text="tea")), (UnavailableError("broke"),)])
    engine = PlayedEngine([calls(call_event(text="tea"))])
    world = away(World(engine, [tool]), remote)
    asked = question("tea", route=HOME, allowed_tools=frozenset({"act"}))
    seen = await ask(world.agent(), asked)
    assert tool.calls == [{"text": "tea"}]
    assert seen.answer.exit_status == 0
    assert any("already done" in note for note in notes(list(seen.events)))


async def test_both_gone_is_an_honest_end() -> None:
    engine = PlayedEngine([(UnavailableError("the model's process died"),)])
    world = away(World(engine), FakeRemote([(UnavailableError("the line broke"),)]))
    seen = await ask(world.agent(), question(route=HOME))
    assert seen.answer.exit_status == 1
    assert seen.answer.error is not None
    assert "the model's process died" in seen.answer.error.what
    assert "the line broke" in seen.answer.error.what


async def test_a_broken_phone_goes_home() -> None:
    engine = PlayedEngine([(UnavailableError("the model is being loaded"),)])
    world = away(World(engine), FakeRemote([text("Home is up and running.")]))
    seen = await ask(world.agent(), question())
    assert seen.answer.place is Place.HOME
    assert seen.answer.reason == "the phone's model failed: the model is being loaded"


async def test_a_prompt_too_long_for_the_phone_goes_home() -> None:
    engine = PlayedEngine([], context_tokens=512)
    world = away(World(engine), FakeRemote([text("That was a long one.")]))
    seen = await ask(world.agent(), question("word " * 2000))
    assert seen.answer.place is Place.HOME
    assert "more than the phone's 384" in seen.answer.reason


async def test_a_talk_that_is_too_long_for_home_is_shortened_and_asked_again() -> None:
    scripts = [text(f"{'word ' * 300}number {number}.") for number in range(3)]
    too_long = (TooLongError("the prompt is more than the model can hold"),)
    remote = FakeRemote([*scripts, too_long, text("It was a nice talk.")])
    agent = away(World(PlayedEngine([])), remote).agent()
    first = await ask(agent, question(route=HOME))
    talk = first.answer.conversation_id
    for _ in range(2):
        await ask(agent, question(route=HOME, conversation_id=talk))
    seen = await ask(agent, question("what did we say?", route=HOME, conversation_id=talk))
    assert (seen.answer.place, seen.text) == (Place.HOME, "It was a nice talk.")
    assert any("earlier turns were" in note for note in notes(seen.events))
    whole, shorter = remote.requests[-2:]
    assert estimate_tokens(shorter.messages) < estimate_tokens(whole.messages) * 0.7
    assert shorter.messages[-1] == whole.messages[-1]
    assert shorter.tools == whole.tools


async def test_every_event_from_home_is_journalled_and_the_id_before_it_is_sent() -> None:
    journal = MemoryJournal()
    asked = question(route=HOME)
    log: list[tuple[str, object]] = []

    class Watching(MemoryJournal):
        def begin_generation(self, record: GenerationRecord) -> None:
            log.append(("begun", record.id))
            super().begin_generation(record)

        def saw(self, generation_id: object, seq: int) -> None:
            log.append(("saw", seq))
            assert generation_id

        def end_generation(self, generation_id: object) -> None:
            log.append(("ended", generation_id))

    journal = Watching()
    remote = FakeRemote([text("one |two |three and four")])
    await ask(World(PlayedEngine([]), homes=FakeHomes(remote), journal=journal).agent(), asked)
    generation = remote.requests[0].id
    assert log[0] == ("begun", generation)
    assert [seq for kind, seq in log if kind == "saw"] == [1, 2, 3, 4, 5]
    assert log[-1] == ("ended", generation)


async def test_after_a_kill_the_same_request_attaches_to_its_generation() -> None:
    journal = MemoryJournal()
    asked = question(route=HOME)
    remote = FakeRemote([text("The first attempt here."), text("The whole answer, again.")])
    world = World(PlayedEngine([]), homes=FakeHomes(remote), journal=journal)
    await ask(world.agent(), asked)
    first = remote.requests[0]
    # As a killed process leaves it: begun, not ended, and no answer.
    crashed = MemoryJournal()
    crashed.begin_request(
        RequestRecord(asked.request_id, new_conversation_id(), asked.content_hash, 1.0)
    )
    digest = content_hash(first.messages, first.tools, first.thinking)
    crashed.begin_generation(
        GenerationRecord(first.id, asked.request_id, Place.HOME, FAKE_NODE, digest, 2)
    )
    again = World(PlayedEngine([]), homes=FakeHomes(remote), journal=crashed)
    seen = await ask(again.agent(), asked)
    assert remote.requests[1].id == first.id
    assert seen.answer.text == "The whole answer, again."


async def test_a_generation_that_the_node_knows_for_something_else_is_asked_anew() -> None:
    asked = question(route=HOME)
    journal = MemoryJournal()
    remote = FakeRemote(
        [text("Learning the digest."), (ConflictError("known"),), text("A fresh answer it is.")]
    )
    probe = question(route=HOME)
    await ask(World(PlayedEngine([]), homes=FakeHomes(remote)).agent(), probe)
    first = remote.requests[0]
    digest = content_hash(first.messages, first.tools, first.thinking)
    stale = new_generation_id()
    journal.begin_generation(
        GenerationRecord(stale, asked.request_id, Place.HOME, FAKE_NODE, digest)
    )
    world = World(PlayedEngine([]), homes=FakeHomes(remote), journal=journal)
    seen = await ask(world.agent(), asked)
    assert remote.requests[1].id == stale
    assert remote.requests[2].id != stale
    assert seen.answer.text == "A fresh answer it is."


async def test_closing_ends_homes_work() -> None:
    remote = FakeRemote([(TextDelta("one and two and three"), asyncio.Event())])
    agent = away(World(PlayedEngine([])), remote).agent()
    async with asyncio.timeout(5), aclosing(agent.ask(question(route=HOME), FakeConsent())) as s:
        async for event in s:
            if isinstance(event, TextDelta):
                break
    assert remote.closed == 1


async def test_the_time_limit_holds_at_home_too() -> None:
    remote = FakeRemote([(TextDelta("one and two and three"), asyncio.Event())])
    world = away(World(PlayedEngine([]), limits=Limits(total_s=0.1)), remote)
    seen = await ask(world.agent(), question(route=HOME))
    assert seen.answer.exit_status == 1
    assert seen.answer.text == "one and two and three"
    assert remote.closed == 1


async def test_an_unreadable_call_from_home_is_not_shown() -> None:
    remote = FakeRemote(
        [
            (TextDelta('<tool_call>{"name": '), TextDelta('"act"'), CALLS),
            text("Done in words then."),
        ]
    )
    world = away(World(PlayedEngine([]), [FakeTool()]), remote)
    seen = await ask(world.agent(), question(route=HOME))
    assert seen.answer.text == "Done in words then."
    assert remote.requests[1].tools == ()


async def test_a_home_that_asks_again_for_what_is_done_comes_to_an_end() -> None:
    again = call_event("act")
    remote = FakeRemote([calls(*[again] * 60), calls(again), text("never reached")])
    tool = FakeTool()
    world = away(World(PlayedEngine([]), [tool]), remote)
    seen = await ask(world.agent(), question(route=HOME, allowed_tools=frozenset({"act"})))
    assert len(tool.calls) == 1
    assert seen.answer.exit_status == 0
    assert len(remote.requests) == 2
    assert len(seen.answer.steps) == 3


async def test_a_failure_after_something_was_done_says_so() -> None:
    trouble = Failed.from_error(OverloadedError("too many wait"))
    remote = FakeRemote([calls(call_event("act")), (trouble,)])
    engine = PlayedEngine([(trouble,)] * 4)
    world = away(World(engine, [FakeTool()]), remote)
    seen = await ask(world.agent(), question(route=HOME, allowed_tools=frozenset({"act"})))
    assert seen.answer.error is not None
    assert seen.answer.error.what.startswith("act was done, but then ")
    assert seen.answer.error.hint == "Ask for the rest only."
