"""Tests for `headwater.core.identity_cache`."""

from __future__ import annotations

from headwater.core.identity_cache import IdentityCache


def test_the_same_objects_are_asked_for_once() -> None:
    calls: list[tuple[list[int], list[int]]] = []

    def joined(first: list[int], second: list[int]) -> list[int]:
        calls.append((first, second))
        return first + second

    memo = IdentityCache(joined)
    one, two = [1], [2]
    assert memo(one, two) is memo(one, two)
    assert len(calls) == 1


def test_equal_objects_that_are_not_the_same_are_asked_for_anew() -> None:
    def copied(values: list[int]) -> list[int]:
        return list(values)

    memo = IdentityCache(copied)
    values = [1]
    found = memo(values)
    assert memo([1]) == found
    assert memo([2]) == [2]
    assert memo(values) == [1]


def test_arguments_by_name_count_as_those_by_position_do() -> None:
    def joined(first: list[int], second: list[int] | None = None) -> list[int]:
        return first + (second or [])

    memo = IdentityCache(joined)
    one = [1]
    assert memo(one, second=[2]) == [1, 2]
    assert memo(one, second=[3]) == [1, 3]
    assert memo(first=one) == [1]
    assert memo(one) == [1]
