"""Whose turn it is: first sound first, then whoever runs out soonest, and nobody starves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olu.serve.worker import AHEAD_SECONDS, CROWD, CROWD_START, HEAD_START, Turn, first, together


def test_who_has_heard_nothing_comes_first_in_the_order_of_coming() -> None:
    listening = Turn(came=0.0, begun=1.0, given=0.5, taken=0.5)
    early, late = Turn(came=5.0), Turn(came=6.0)
    assert first([listening, late, early]) is early
    assert first([listening, late]) is late


def test_then_whoever_runs_out_of_sound_soonest() -> None:
    much = Turn(came=0.0, begun=1.0, given=8.0)
    little = Turn(came=0.0, begun=2.0, given=1.0)
    assert first([much, little]) is little


def test_a_listener_without_sound_for_long_is_not_passed_over_for_ever() -> None:
    starved = Turn(came=0.0, begun=0.0, given=1.0)
    assert first([starved, Turn(came=1.0 + HEAD_START / 2)]) is not starved
    assert first([starved, Turn(came=1.5 + HEAD_START)]) is starved


def test_in_a_crowd_who_has_begun_is_not_left_in_silence_for_newcomers() -> None:
    silent = Turn(came=0.0, begun=0.0, given=1.0)
    late = [Turn(came=1.5 + CROWD_START + n) for n in range(CROWD)]
    assert first([silent, *late[1:]]) is late[1], "few: the newcomer"
    assert first([silent, *late]) is silent
    early = Turn(came=0.5 + CROWD_START)
    assert first([silent, early, *late]) is early


def test_nothing_is_made_for_who_does_not_take_it() -> None:
    slow = Turn(came=0.0, begun=0.0, given=AHEAD_SECONDS)
    assert first([slow]) is None
    slow.taken = 0.5
    assert first([slow]) is slow
    assert first([]) is None


def test_together_go_equal_parts_of_one_voice_the_most_urgent_ones() -> None:
    lead = Turn(came=0.0, like=("a", 30))
    others = [
        Turn(came=4.0, like=("a", 30)),
        Turn(came=1.0, like=("a", 31)),
        Turn(came=2.0, like=("b", 30)),
        Turn(came=3.0, like=("a", 30)),
        Turn(came=0.5, begun=0.0, given=99.0, like=("a", 30)),  # far ahead
        Turn(came=0.6),
    ]
    assert together(lead, [*others, lead], most=4) == [lead, others[3], others[0]]
    assert together(lead, [*others, lead], most=2) == [lead, others[3]]
    assert together(lead, [*others, lead], most=1) == [lead]
    assert together(lead, [*others, lead], most=0) == [lead], "a part too long for company goes alone"


@given(st.lists(st.floats(0.1, 4.0), min_size=2, max_size=8))
def test_sound_is_shared_evenly_however_long_the_chunks_are(chunks: list[float]) -> None:
    """Each turn gives its own length of sound; nobody falls behind by more than the longest two."""
    turns = [Turn(came=float(n), begun=0.0) for n in range(len(chunks))]
    for _ in range(200):
        turn = first(turns)
        assert turn is not None
        turn.given += chunks[int(turn.came)]
        turn.taken = turn.given
    given = [turn.given for turn in turns]
    assert max(given) - min(given) <= 2 * max(chunks) + 1e-9
