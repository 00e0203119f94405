"""Topic filters that no message matches twice: a broker delivers it once for each filter that it matches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, zip_longest

_ONE_LEVEL = "+"
_ALL_LEVELS = "#"
_SHARED = "$share"


def disjoint(filters: Sequence[str]) -> tuple[str, ...]:
    """Return filters that match the same topics as ``filters``, and none of them a topic of another one.

    A filter whose topics another one matches too, is not needed: MQTT 3.1.1 and 5 let a broker deliver a
    message once for each subscription (MQTT 5, 3.3.4), and mosquitto does. Two that share some topics cannot
    be told apart that way.

    Raises:
        ValueError: two filters share topics, and neither has all of the other's.
    """
    remaining = [
        one
        for at, one in enumerate(filters)
        # Of two that match the same topics the first one stays.
        if not any(
            covers(other, one) and (place < at or not covers(one, other))
            for place, other in enumerate(filters)
            if place != at
        )
    ]
    for one, other in combinations(remaining, 2):
        if overlap(one, other):
            raise ValueError(
                f"must be filters that share no topic, or of which one has all topics of the other: "
                f"{one!r} and {other!r} are not, and brokers deliver what matches both twice. Use one filter "
                "for both and select by the column 'topic', or a query for each"
            )
    return tuple(remaining)


def covers(wide: str, narrow: str) -> bool:
    """Whether every topic that matches ``narrow`` matches ``wide``. A shared subscription covers no other."""
    if wide.startswith(_SHARED) or narrow.startswith(_SHARED):
        return False
    if _is_hidden_from(wide, narrow):
        return False
    if narrow == _ALL_LEVELS:
        return wide in (_ALL_LEVELS, f"{_ONE_LEVEL}/{_ALL_LEVELS}")  # every topic has one level at least
    for level, other in zip_longest(wide.split("/"), narrow.split("/")):
        if level == _ALL_LEVELS:
            return True
        if level is None or other in (None, _ALL_LEVELS) or level not in (_ONE_LEVEL, other):
            return False
    return True


def overlap(one: str, other: str) -> bool:
    """Whether a topic matches both."""
    one, other = _topics_of(one), _topics_of(other)
    if _is_hidden_from(one, other) or _is_hidden_from(other, one):
        return False
    for level, counterpart in zip_longest(one.split("/"), other.split("/")):
        if _ALL_LEVELS in (level, counterpart):
            return True
        if level is None or counterpart is None:
            return False
        if _ONE_LEVEL not in (level, counterpart) and level != counterpart:
            return False
    return True


def _topics_of(one: str) -> str:
    """Return the filter of a shared subscription, ``$share/group/filter``."""
    return one.split("/", 2)[2] if one.startswith(f"{_SHARED}/") and one.count("/") > 1 else one


def _is_hidden_from(wide: str, narrow: str) -> bool:
    """Whether a wildcard at the beginning does not match the other: topics that begin with $ (4.7.2)."""
    return wide[0] in (_ONE_LEVEL, _ALL_LEVELS) and narrow.startswith("$")
