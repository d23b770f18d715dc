from __future__ import annotations

from dataclasses import replace

import pytest
from homing_agent.request import RoutePreference
from homing_agent.routing.decide import DEFAULT_RULES, Rules, decide
from homing_agent.routing.decisions import (
    Answer,
    Ask,
    AskFor,
    CallTool,
    Decision,
    Decline,
    Escalate,
    Speak,
)
from homing_agent.routing.features import CallFacts, Features, Point, Reach
from homing_agent.routing.grounding import Grounding
from homing_agent.routing.score import Judgement
from homing_agent.routing.thresholds import Thresholds
from homing_core.errors import ErrorCode
from homing_core.generation import CallSignals, TokenSignals
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass
from hypothesis import given
from hypothesis import strategies as st

SURE = CallSignals(0.99, 0.98, 0.9, 0.9, 0.99)
SAID = Grounding(1.0, "", (), (("text", 1.0), ("when", 1.0)))
NO_TIME = Grounding(0.0, "when", (), (("text", 1.0), ("when", 0.0)))
INVENTED = Grounding(0.0, "text", (), (("text", 0.0), ("when", 0.2)))
PHONE = RoutePreference.PHONE


def at_call(
    signals: CallSignals | None = SURE,
    effect: EffectClass = EffectClass.WRITE,
    grounding: Grounding = SAID,
    overlap: float = 0.5,
) -> Features:
    call = CallFacts("set_reminder", effect, signals, grounding, overlap=overlap)
    return Features(Point.CALL, call=call)


def at_text(first: float, mean_logprob: float) -> Features:
    return Features(Point.TEXT, text=TokenSignals(first, mean_logprob, 8))


def test_the_phone_tries_first() -> None:
    assert isinstance(decide(Features(Point.START)), Answer)


def test_a_sure_call_stays_and_says_how_sure() -> None:
    decision = decide(at_call())
    assert isinstance(decision, CallTool)
    assert decision.confidence == pytest.approx(SURE.name_probability)
    assert "the phone is sure of choosing set_reminder" in decision.reason


@pytest.mark.parametrize(
    ("signals", "says"),
    [
        (replace(SURE, name_probability=0.52, name_margin=0.11), "looked alike: 52% to 41%"),
        (replace(SURE, call_probability=0.2), "whether a tool fits: 20%"),
        (replace(SURE, name_probability=0.3), "which tool fits: set_reminder at 30%"),
        (replace(SURE, lowest_argument_probability=0.05), "argument of set_reminder: 5%"),
        (replace(SURE, grammar_share=0.1), "10% left"),
    ],
)
def test_a_doubtful_call_goes_home_with_a_reason(signals: CallSignals, says: str) -> None:
    decision = decide(at_call(signals))
    assert isinstance(decision, Escalate)
    assert says in decision.reason


def test_a_call_of_which_nothing_was_said_goes_home_if_the_tool_acts() -> None:
    decision = decide(at_call(grounding=INVENTED))
    assert isinstance(decision, Escalate)
    assert "the model made up 'text' for set_reminder" in decision.reason
    # A name to look up that nobody said is made up as well; a question in other words is not.
    looked_up = at_call(grounding=INVENTED, effect=EffectClass.READ)
    assert isinstance(decide(looked_up), Escalate)
    half = Grounding(0.3, "query", (), (("query", 0.3),))
    assert isinstance(decide(at_call(grounding=half, effect=EffectClass.READ)), CallTool)


def test_what_nobody_said_is_asked_for_and_not_guessed() -> None:
    decision = decide(at_call(grounding=NO_TIME))
    assert isinstance(decision, AskFor)
    assert decision.parameters == ("when",)
    assert decision.reason == "set_reminder needs what was not said: when"
    assert isinstance(decide(replace(at_call(grounding=NO_TIME), route=PHONE)), AskFor)
    away = replace(at_call(grounding=NO_TIME), reach=Reach.UNREACHABLE)
    assert isinstance(decide(away), AskFor)


def test_a_question_does_not_come_from_nowhere() -> None:
    """ "Hello!" is no reason to ask for the time of a reminder."""
    assert isinstance(decide(at_call(grounding=NO_TIME, overlap=0.0)), Escalate)


def test_nobody_is_asked_for_the_same_thing_twice() -> None:
    again = replace(at_call(grounding=NO_TIME), asked_before=True)
    decision = decide(again)
    assert isinstance(decision, Escalate)
    assert "the model made up 'when' for set_reminder" in decision.reason
    assert isinstance(decide(replace(again, reach=Reach.UNREACHABLE)), Speak)


def test_a_question_about_a_doubtful_call_is_not_asked() -> None:
    unsure = replace(SURE, name_margin=0.0)
    assert isinstance(decide(at_call(unsure, grounding=NO_TIME)), Escalate)


def test_a_made_up_act_becomes_words_where_home_cannot_be_reached() -> None:
    decision = decide(replace(at_call(grounding=INVENTED), reach=Reach.UNREACHABLE))
    assert isinstance(decision, Speak)
    assert "the model made up 'text' for set_reminder" in decision.reason
    chosen = replace(at_call(grounding=INVENTED), route=PHONE)
    assert isinstance(decide(chosen), Speak)


def test_what_home_composed_is_shown_to_a_person() -> None:
    composed = Grounding(0.0, "text", (), (("text", 0.0), ("when", 1.0)))
    decision = decide(replace(at_call(grounding=composed), reach=Reach.THERE))
    assert isinstance(decision, Ask)
    assert "the model made up 'text' for set_reminder" in decision.reason


def test_an_engine_without_probabilities_is_not_doubted_for_it() -> None:
    decision = decide(at_call(None))
    assert isinstance(decision, CallTool)
    assert decision.confidence < 0


@pytest.mark.parametrize(
    ("first", "mean", "doubt"),
    [(0.9, -0.2, ""), (0.05, -0.2, "how to begin: 5%"), (0.9, -2.0, "of its words: 14% each")],
)
def test_a_halting_text_goes_home(first: float, mean: float, doubt: str) -> None:
    decision = decide(at_text(first, mean))
    if doubt:
        assert isinstance(decision, Escalate)
        assert doubt in decision.reason
    else:
        assert isinstance(decision, Answer)


def test_a_doubtful_act_asks_a_person_where_home_cannot_be_reached() -> None:
    unsure = replace(SURE, name_probability=0.52, name_margin=0.11)
    away = replace(
        at_call(unsure),
        reach=Reach.UNREACHABLE,
        home_problem="home cannot be reached: no answer",
    )
    decision = decide(away)
    assert isinstance(decision, Ask)
    assert decision.reason == (
        "two tools looked alike: 52% to 41%, and home cannot be reached: no answer"
    )
    reading = at_call(unsure, EffectClass.READ)
    assert isinstance(decide(replace(reading, reach=Reach.UNREACHABLE)), CallTool)


def test_route_phone_never_leaves() -> None:
    unsure = replace(SURE, name_margin=0.0)
    assert isinstance(decide(Features(Point.START, route=PHONE)), Answer)
    assert isinstance(decide(replace(at_call(unsure), route=PHONE)), CallTool)
    assert isinstance(decide(replace(at_text(0.0, -9.0), route=PHONE)), Answer)
    failed = Features(Point.FAILURE, route=RoutePreference.PHONE, failures=2, failure="it broke")
    decision = decide(failed)
    assert isinstance(decision, Decline)
    assert decision.reason == "it broke, and you asked for the phone"


def test_route_home_goes_home_and_falls_back_honestly() -> None:
    home = Features(Point.START, route=RoutePreference.HOME)
    assert decide(home) == Escalate("you asked for home")
    away = replace(home, reach=Reach.UNREACHABLE, home_problem="home cannot be reached: off")
    assert decide(away) == Answer("home cannot be reached: off")


def test_phone_only_content_never_leaves() -> None:
    private = Sensitivity.PHONE_ONLY
    assert isinstance(decide(Features(Point.START, sensitivity=private)), Answer)
    assert isinstance(decide(replace(at_text(0.0, -9.0), sensitivity=private)), Answer)
    unsure = at_call(replace(SURE, name_margin=0.0))
    assert isinstance(decide(replace(unsure, sensitivity=private)), Ask)
    contradiction = decide(
        Features(Point.START, route=RoutePreference.HOME, sensitivity=Sensitivity.PHONE_ONLY)
    )
    assert isinstance(contradiction, Decline)
    assert contradiction.code is ErrorCode.REFUSED


def test_a_prompt_too_long_for_the_phone_goes_home_or_is_declined() -> None:
    long = Features(Point.START, prompt_tokens=4000, context_tokens=4096)
    decision = decide(long)
    assert isinstance(decision, Escalate)
    assert "4000" in decision.reason
    declined = decide(replace(long, reach=Reach.UNREACHABLE, home_problem="home is off"))
    assert isinstance(declined, Decline)
    assert declined.code is ErrorCode.TOO_LONG
    assert "home is off" in declined.reason
    assert isinstance(decide(replace(long, context_tokens=0)), Answer)


def test_one_failure_is_tried_again_and_two_go_home() -> None:
    first = Features(Point.FAILURE, failures=1, failure="'when' is missing")
    decision = decide(first)
    assert isinstance(decision, Answer)
    assert "'when' is missing" in decision.reason
    assert isinstance(decide(replace(first, failures=2)), Escalate)
    assert isinstance(decide(replace(first, engine_failed=True)), Escalate)
    assert isinstance(decide(Features(Point.TEXT, broken_call=True)), Escalate)


def test_untrusted_text_asks_before_acting_whatever_the_score() -> None:
    assert isinstance(decide(replace(at_call(), untrusted=True)), Ask)
    assert isinstance(decide(replace(at_call(effect=EffectClass.READ), untrusted=True)), CallTool)
    assert isinstance(decide(replace(at_call(), untrusted=True, route=RoutePreference.PHONE)), Ask)
    assert isinstance(decide(replace(at_call(), untrusted=True, reach=Reach.THERE)), Ask)


def test_homes_own_doubt_does_not_send_it_home_again() -> None:
    unsure = replace(SURE, name_margin=0.0)
    assert isinstance(decide(replace(at_call(unsure), reach=Reach.THERE)), Ask)
    assert isinstance(decide(replace(at_call(), reach=Reach.THERE)), CallTool)


def test_thresholds_and_the_score_rule_can_be_replaced() -> None:
    strict = Rules.with_thresholds(Thresholds(name_margin=0.95))
    assert isinstance(decide(at_call(), strict), Escalate)

    class Doubter:
        def judge(self, features: Features) -> Judgement:
            return Judgement(0.25, f"learned doubt at {features.point.value}")

        def numbers(self, features: Features) -> dict[str, float]:
            return features.numbers()

    decision = decide(at_call(), Rules(score=Doubter()))
    assert decision == Escalate("learned doubt at call", 0.25)


def test_numbers_hold_what_a_learned_rule_needs() -> None:
    numbers = at_call().numbers()
    assert numbers["name_margin"] == 0.9
    assert numbers["acts"] == 1.0
    assert at_text(0.5, 0.0).numbers()["text_token_probability"] == 1.0
    assert "name_margin" not in at_text(0.5, 0.0).numbers()


probability = st.floats(0, 1)
features = st.builds(
    Features,
    point=st.sampled_from(Point),
    route=st.sampled_from(RoutePreference),
    reach=st.sampled_from(Reach),
    sensitivity=st.sampled_from(Sensitivity),
    untrusted=st.booleans(),
    prompt_tokens=st.integers(0, 10_000),
    context_tokens=st.sampled_from([0, 2048, 8192]),
    failures=st.integers(0, 4),
    engine_failed=st.booleans(),
    broken_call=st.booleans(),
    call=st.none()
    | st.builds(
        CallFacts,
        name=st.just("tool"),
        effect=st.sampled_from(EffectClass),
        signals=st.none()
        | st.builds(CallSignals, probability, probability, probability, probability, probability),
        grounding=st.none()
        | st.builds(
            Grounding,
            probability,
            st.just("when"),
            st.just(()),
            st.lists(st.tuples(st.sampled_from(["text", "when"]), probability), max_size=2).map(
                tuple
            ),
        ),
    ),
    text=st.none() | st.builds(TokenSignals, probability, st.floats(-50, 1), st.integers(1, 9)),
)


@given(features)
def test_what_must_never_happen(case: Features) -> None:
    decision: Decision = decide(case, DEFAULT_RULES)
    assert decision.reason
    assert decision.confidence == -1 or 0 <= decision.confidence <= 1
    assert all(isinstance(value, float | int) for value in case.numbers().values())
    if isinstance(decision, Escalate):
        assert case.sensitivity is not Sensitivity.PHONE_ONLY
        assert case.route is not RoutePreference.PHONE
        assert case.reach is Reach.UNKNOWN
    if isinstance(decision, CallTool) and case.call is not None and case.untrusted:
        assert case.call.effect is EffectClass.READ
