"""Topic filters of which a message matches one at most."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from paho.mqtt.client import topic_matches_sub

from headwater.enumerators.mqtt.topic_filters import covers, disjoint, overlap

LEVELS = ("a", "b", "", "$c")
TOPICS = ["/".join(levels) for size in (1, 2, 3, 4) for levels in itertools.product(LEVELS, repeat=size)]
TOPICS = [topic for topic in TOPICS if topic]


@st.composite
def filters(draw: st.DrawFn) -> str:
    levels = draw(st.lists(st.sampled_from((*LEVELS, "+")), min_size=0, max_size=3))
    if draw(st.booleans()):
        levels.append("#")
    text = "/".join(levels)
    assume(text)
    return text


def matching(one: str) -> set[str]:
    return {topic for topic in TOPICS if topic_matches_sub(one, topic)}


@given(filters(), filters())
def test_covers_and_overlap_are_what_an_mqtt_client_matches(one: str, other: str) -> None:
    assert covers(one, other) == (matching(other) <= matching(one))
    assert overlap(one, other) == bool(matching(one) & matching(other))


@given(st.lists(filters(), min_size=1, max_size=4, unique=True))
def test_disjoint_filters_match_the_same_topics_and_none_of_them_twice(several: list[str]) -> None:
    pairs = itertools.combinations(several, 2)
    assume(not any(overlap(*pair) and not covers(*pair) and not covers(*pair[::-1]) for pair in pairs))
    left = disjoint(several)
    assert set(left) <= set(several)
    for topic in TOPICS:
        count = sum(topic_matches_sub(one, topic) for one in left)
        assert count == any(topic_matches_sub(one, topic) for one in several), topic


@pytest.mark.parametrize(
    ("several", "left"),
    [
        (("x/#", "x/1", "x/+"), ("x/#",)),
        (("x/1", "x/2"), ("x/1", "x/2")),
        (("#", "$SYS/#"), ("#", "$SYS/#")),
        (("x", "x/#"), ("x/#",)),
        (("$share/g/x/#", "y"), ("$share/g/x/#", "y")),
    ],
)
def test_a_filter_within_another_one_is_not_subscribed_to(
    several: tuple[str, ...], left: tuple[str, ...]
) -> None:
    assert disjoint(several) == left


@pytest.mark.parametrize("several", [("x/+", "+/1"), ("$share/g/x/#", "x/1"), ("$share/g/x", "$share/h/x")])
def test_filters_that_share_some_topics_are_refused_with_the_way_out(several: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="select by the column 'topic'"):
        disjoint(several)
