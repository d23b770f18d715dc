"""What runs next: never over capacity, nobody starves, persons before jobs, always progress."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace

import pytest
from homing_core.generation import Priority
from homing_inference.scheduler.pace import TILE, ChunkSize
from homing_inference.scheduler.plan import (
    OVERTAKEN_AT_MOST,
    Admit,
    Decode,
    Expire,
    Idle,
    MakeRoom,
    Prefill,
    Refuse,
    Step,
    Work,
    first_in_line,
    plan,
    sequences_for_jobs,
)
from homing_inference.scheduler.view import Phase, Running, View, Waiting
from hypothesis import given, settings
from hypothesis import strategies as st

PERSON, JOB = Priority.INTERACTIVE, Priority.JOB
MAX_SEQUENCES = 4
CELLS = 100
CHUNK = 16
SIZE = ChunkSize(CHUNK, CHUNK)


def _view(
    waiting: tuple[Waiting, ...] = (),
    running: tuple[Running, ...] = (),
    **changes: object,
) -> View:
    view = View(
        now=10.0,
        waiting=waiting,
        running=running,
        max_sequences=MAX_SEQUENCES,
        free_cells=CELLS,
        chunk=SIZE,
    )
    return replace(view, **changes)  # type: ignore[arg-type]


def _running(number: int, phase: Phase = Phase.DECODE, **changes: object) -> Running:
    left = 50 if phase is Phase.PREFILL else 0
    running = replace(Running(number, "a", PERSON, phase, left), **changes)  # type: ignore[arg-type]
    return replace(running, reach=running.left)


def test_nothing_asked_is_nothing_to_do() -> None:
    assert plan(_view()) == Idle()


@pytest.mark.parametrize("runs", [True, False])
def test_what_is_past_its_deadline_ends_before_anything_else(runs: bool) -> None:  # noqa: FBT001  # pytest gives it
    view = (
        _view((Waiting(1, "a", PERSON),), (_running(2, deadline=10.0),))
        if runs
        else _view((replace(Waiting(2, "a", PERSON), deadline=10.0), Waiting(1, "a", PERSON)))
    )
    assert plan(view) == Expire(2)


def test_a_person_is_let_in_before_a_job_that_came_first() -> None:
    assert plan(_view((Waiting(1, "a", JOB), Waiting(2, "b", PERSON)))) == Admit(2)


def test_the_owner_with_least_running_goes_first_then_the_first_to_come() -> None:
    waiting = (Waiting(3, "a", PERSON), Waiting(4, "b", PERSON), Waiting(5, "b", PERSON))
    assert plan(_view(waiting, (_running(1),))) == Admit(4)
    assert plan(_view(waiting)) == Admit(3)


def test_who_was_overtaken_often_goes_by_arrival() -> None:
    patient = Waiting(3, "a", PERSON, overtaken=OVERTAKEN_AT_MOST)
    assert plan(_view((patient, Waiting(4, "b", PERSON)), (_running(1),))) == Admit(3)


def test_jobs_leave_one_sequence_to_persons() -> None:
    running = tuple(_running(number, priority=JOB, served=9) for number in (1, 2, 3))
    assert plan(_view((Waiting(4, "a", JOB),), running)) == Decode((1, 2, 3))
    assert plan(_view((Waiting(4, "a", PERSON),), running)) == Admit(4)
    assert sequences_for_jobs(1) == 1


def test_a_large_request_is_waited_for_and_not_overtaken_by_small_ones() -> None:
    waiting = (Waiting(2, "a", PERSON, cells=90), Waiting(3, "a", PERSON, cells=5))
    view = _view(waiting, (_running(1),), free_cells=50)
    assert plan(view) == Decode((1,))
    assert plan(replace(view, droppable=40)) == MakeRoom(40)
    assert plan(replace(view, droppable=39)) == Decode((1,))
    assert plan(replace(view, free_cells=90)) == Admit(2)


def test_several_samples_need_their_sequences_at_once() -> None:
    waiting = (Waiting(2, "a", PERSON, sequences=4), Waiting(3, "a", PERSON))
    assert plan(_view(waiting, (_running(1),))) == Decode((1,))
    assert plan(_view(waiting)) == Admit(2)


def test_answers_take_a_step_after_each_chunk_and_until_their_share_is_used() -> None:
    running = (_running(1, served=3), _running(2, Phase.PREFILL))
    assert plan(_view(running=running, interrupted=3)) == Decode((1,))
    assert plan(_view(running=running, interrupted=2)) == Prefill(((2, CHUNK),))
    assert plan(_view(running=running, interrupted=2, owed=True)) == Decode((1,))


def test_a_prompt_is_finished_with_what_is_left_of_it() -> None:
    assert plan(_view(running=(_running(1, Phase.PREFILL, left=7),))) == Prefill(((1, 7),))


def test_a_prompt_stops_where_a_state_is_kept() -> None:
    running = replace(_running(1, Phase.PREFILL), reach=5)
    assert plan(_view(running=(running,))) == Prefill(((1, 5),))


def test_what_is_left_behind_the_last_tile_is_computed_in_small_chunks() -> None:
    size = ChunkSize(2 * TILE, 20)
    for left, tokens in ((300, 128), (100, 100), (64, 64), (63, 20), (7, 7)):
        running = _running(1, Phase.PREFILL, left=left)
        assert plan(_view(running=(running,), chunk=size)) == Prefill(((1, tokens),))


def test_units_of_work_take_turns_with_answers_as_chunks_do() -> None:
    running = (_running(1, served=3), _running(2, Phase.WORK))
    assert plan(_view(running=running, interrupted=2)) == Work(2, CHUNK)
    assert plan(_view(running=running, interrupted=3)) == Decode((1,))


def test_a_jobs_prompt_stands_still_while_a_person_waits_or_prefills() -> None:
    job = _running(1, Phase.PREFILL, priority=JOB)
    person = _running(2, Phase.PREFILL)
    answer = _running(3, served=3)
    assert plan(_view(running=(job, person))) == Prefill(((2, CHUNK),))
    waits = Waiting(4, "b", PERSON, cells=CELLS + 1)
    assert plan(_view((waits,), (job, answer))) == Decode((3,))
    # Nothing else can run: the job has to get out of the way.
    assert plan(_view((waits,), (job,))) == Prefill(((1, CHUNK),))


def test_what_finds_no_room_and_can_make_none_is_refused() -> None:
    large = Waiting(1, "a", PERSON, cells=CELLS + 1)
    assert plan(_view((large,))) == Refuse(1)
    assert plan(_view((large,), droppable=1)) == MakeRoom(1)
    assert plan(_view((large,), (_running(2),))) == Decode((2,))


def test_a_short_prompt_takes_turns_with_a_long_one() -> None:
    long = _running(1, Phase.PREFILL, left=500, served=4)
    short = _running(2, Phase.PREFILL, left=30, served=0)
    middle = _running(3, Phase.PREFILL, left=60, served=0)
    assert plan(_view(running=(long, short, middle))) == Prefill(((2, CHUNK),))
    short = replace(short, served=5, left=14, reach=14)
    assert plan(_view(running=(long, short, middle))) == Prefill(((1, CHUNK),))
    assert plan(_view(running=(replace(long, served=6), short, middle))) == Prefill(
        ((2, 14), (3, 2))
    )


def test_a_prompt_waits_for_a_prefix_that_another_one_computes() -> None:
    first = _running(1, Phase.PREFILL, left=500, served=4)
    second = _running(2, Phase.PREFILL, left=30, behind=True)
    assert plan(_view(running=(first, second))) == Prefill(((1, CHUNK),))
    assert plan(_view(running=(second,))) == Prefill(((2, CHUNK),))
    # Even where that is a job: its prefix is what the person waits for.
    assert plan(_view(running=(replace(first, priority=JOB), second))) == Prefill(((1, CHUNK),))


def test_what_a_chunk_has_room_for_is_filled_with_the_next_prompts() -> None:
    first = _running(1, Phase.PREFILL, left=6)
    second = _running(2, Phase.PREFILL, left=6)
    third = _running(3, Phase.PREFILL, left=9)
    view = _view(running=(first, second, third))
    assert plan(view) == Prefill(((1, 6), (2, 6), (3, 4)))
    served = replace(first, served=2, left=7, reach=7)
    assert plan(replace(view, running=(served, second, third))) == Prefill(((2, 6), (1, 7), (3, 3)))
    # Where a batch is split by the lengths in it, only equal ones share it, and none is cut.
    assert plan(replace(view, equal_parts=True)) == Prefill(((1, 6), (2, 6)))
    small = replace(view, equal_parts=True, chunk=ChunkSize(10, 10))
    assert plan(small) == Prefill(((1, 6),))
    assert plan(replace(small, chunk=ChunkSize(4, 4))) == Prefill(((1, 4),))


@pytest.mark.parametrize(
    "other", [{"priority": JOB}, {"adapter": "x"}, {"prefix": "tools"}, {"phase": Phase.WORK}]
)
def test_prompts_of_another_kind_or_with_the_same_prefix_to_compute_do_not_share_a_batch(
    other: dict[str, object],
) -> None:
    first = _running(1, Phase.PREFILL, left=6, prefix="tools")
    second = replace(_running(2, Phase.PREFILL, left=6), **other)  # type: ignore[arg-type]
    assert plan(_view(running=(first, second))) == Prefill(((1, 6),))


def test_a_slot_goes_on_while_there_is_time_for_all_that_a_prompt_has_left() -> None:
    answer, prompt = _running(1, served=3), _running(2, Phase.PREFILL, left=9)
    view = _view(running=(answer, prompt), interrupted=3, owed=True)
    assert plan(view) == Prefill(((2, 9),))
    assert plan(replace(view, chunk=ChunkSize(8, 8))) == Decode((1,))
    assert plan(replace(view, chunk=ChunkSize(0, 0))) == Decode((1,))
    # Its answers' first group has taken its step: the slot is over.
    other = _running(3, adapter="x", served=4)
    assert plan(replace(view, running=(answer, prompt, other))) == Decode((1,))
    # Work has no end to be seen.
    work = _running(2, Phase.WORK)
    assert plan(replace(view, running=(answer, work))) == Decode((1,))


def test_answers_with_different_adapters_take_turns() -> None:
    running = (
        _running(1, served=5),
        _running(2, adapter="x", served=4),
        _running(3, adapter="x", served=7),
    )
    assert plan(_view(running=running)) == Decode((2, 3))
    assert plan(_view(running=(replace(running[0], served=3), *running[1:]))) == Decode((1,))


# A whole life under random requests


@dataclass
class _Request:
    waiting: Waiting
    adapter: str
    prompt: int
    answer: int
    arrives: int
    phase: Phase = Phase.PREFILL


@dataclass
class _World:
    """Carries out plans on counters."""

    requests: list[_Request]
    steps: int = 0
    interrupted: int = 0
    waiting: dict[int, _Request] = field(default_factory=dict[int, _Request])
    running: dict[int, _Request] = field(default_factory=dict[int, _Request])
    served: dict[int, int] = field(default_factory=dict[int, int])
    ended: list[int] = field(default_factory=list[int])
    overtaken: dict[int, int] = field(default_factory=dict[int, int])

    def view(self) -> View:
        running = tuple(
            Running(
                number,
                request.waiting.owner,
                request.waiting.priority,
                request.phase,
                request.prompt,
                request.prompt,
                request.waiting.sequences,
                request.adapter,
                self.served.get(number, 0),
                deadline=request.waiting.deadline,
            )
            for number, request in self.running.items()
        )
        waiting = tuple(
            replace(request.waiting, overtaken=self.overtaken.get(number, 0))
            for number, request in self.waiting.items()
        )
        held = sum(request.waiting.cells for request in self.running.values())
        return _view(
            waiting,
            running,
            now=float(self.steps),
            free_cells=CELLS - held,
            interrupted=self.interrupted,
        )

    def arrive(self) -> None:
        for request in [one for one in self.requests if one.arrives <= self.steps]:
            self.requests.remove(request)
            self.waiting[request.waiting.number] = request

    def carry_out(self, step: Step) -> None:
        self.steps += 1
        match step:
            case Expire(number):
                self.waiting.pop(number, None)
                self.running.pop(number, None)
                self.ended.append(number)
            case Admit(number):
                self._admit(number)
            case Prefill(parts):
                self._prefill(parts)
            case Decode(numbers):
                self._decode(numbers)
            case Work() | MakeRoom() | Refuse():
                raise AssertionError(step)
            case Idle():
                assert not self.waiting
                assert not self.running

    def _admit(self, number: int) -> None:
        request = self.waiting.pop(number)
        self.running[number] = request
        taken = [one.waiting for one in self.running.values()]
        assert sum(one.sequences for one in taken) <= MAX_SEQUENCES
        assert sum(one.cells for one in taken) <= CELLS
        jobs = sum(one.sequences for one in taken if one.priority is JOB)
        assert jobs <= sequences_for_jobs(MAX_SEQUENCES)
        persons_wait = any(one.waiting.priority is PERSON for one in self.waiting.values())
        assert request.waiting.priority is PERSON or not persons_wait
        for other in self.waiting:
            same = self.waiting[other].waiting.priority is request.waiting.priority
            if same and other < number:
                self.overtaken[other] = self.overtaken.get(other, 0) + 1
                assert self.overtaken[other] <= OVERTAKEN_AT_MOST

    def _prefill(self, parts: tuple[tuple[int, int], ...]) -> None:
        assert sum(tokens for _, tokens in parts) <= CHUNK
        requests = [self.running[number] for number, _ in parts]
        assert len({(one.adapter, one.waiting.priority) for one in requests}) == 1
        assert len({number for number, _ in parts}) == len(parts)
        self.interrupted = self.steps
        for number, tokens in parts:
            request = self.running[number]
            assert 0 < tokens <= request.prompt
            request.prompt -= tokens
            self.served[number] = self.steps
            if request.prompt == 0:
                request.phase = Phase.DECODE

    def _decode(self, numbers: tuple[int, ...]) -> None:
        assert len({self.running[number].adapter for number in numbers}) == 1
        for number in numbers:
            request = self.running[number]
            assert request.phase is Phase.DECODE
            request.answer -= 1
            self.served[number] = self.steps
            if request.answer <= 0:
                del self.running[number]
                self.ended.append(number)


@st.composite
def _requests(draw: st.DrawFn) -> list[_Request]:
    return [
        _Request(
            Waiting(
                number,
                draw(st.sampled_from("abc")),
                draw(st.sampled_from(Priority)),
                draw(st.integers(1, MAX_SEQUENCES - 1)),
                draw(st.integers(1, CELLS)),
                draw(st.just(float("inf")) | st.floats(1, 400)),
            ),
            draw(st.sampled_from(["", "x"])),
            draw(st.integers(1, 60)),
            draw(st.integers(1, 20)),
            draw(st.integers(0, 100)),
        )
        for number in range(1, draw(st.integers(1, 14)) + 1)
    ]


@settings(max_examples=150, deadline=None)
@given(_requests())
def test_everything_comes_to_an_end_within_capacity_and_nobody_is_forgotten(
    requests: list[_Request],
) -> None:
    world = _World(list(requests))
    most_waits = dict.fromkeys((request.waiting.number for request in requests), 0)
    for _ in range(3000):
        world.arrive()
        view = world.view()
        step = plan(view)
        assert plan(dataclasses.replace(view)) == step
        if step == Idle() and not world.requests:
            break
        world.carry_out(step)
        for number, request in world.running.items():
            if request.phase is Phase.DECODE:
                decoded = isinstance(step, Decode) and number in step.numbers
                most_waits[number] = 0 if decoded else most_waits[number] + 1
                # At worst: its own admission's step, others' admissions and ends, a chunk, a group.
                if not isinstance(step, Admit | Expire):
                    assert most_waits[number] <= 3 + len(requests)
    assert sorted(world.ended) == sorted(request.waiting.number for request in requests)


@given(_requests())
def test_the_first_in_line_does_not_depend_on_the_order_of_the_queue(
    requests: list[_Request],
) -> None:
    waiting = tuple(request.waiting for request in requests)
    assert first_in_line(_view(waiting)) == first_in_line(_view(waiting[::-1]))
