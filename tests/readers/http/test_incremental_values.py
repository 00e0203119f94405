"""How values compare, and how they are asked with: never later than they are."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.readers.http.incremental.values import NumberOrder, TextOrder, TimeOrder, ValueOrder

_MINUTE = TimeOrder(60_000)


@pytest.mark.parametrize(
    ("order", "value", "asked"),
    [
        (_MINUTE, "2024-05-01T12:00:00Z", "2024-05-01T11:59:00Z"),
        (_MINUTE, "2024-05-01t12:00:00.5z", "2024-05-01t11:59:00.500z"),
        (_MINUTE, "2024-05-01T12:00:00.123456789Z", "2024-05-01T11:59:00.123456Z"),
        (_MINUTE, "2024-05-01 00:00:30+02:00", "2024-04-30 23:59:30+02:00"),
        (_MINUTE, "2024-05-01T12:00:00-0530", "2024-05-01T11:59:00-0530"),
        (_MINUTE, "2024-05-01T12:00:00", "2024-05-01T11:59:00"),
        (_MINUTE, "2024-05-01", "2024-04-30"),
        (_MINUTE, "20240501", "20240430"),
        (_MINUTE, "20240501T120000Z", "20240501T115900Z"),
        (_MINUTE, "20240501T120000.250+0200", "20240501T115900.250+0200"),
        (_MINUTE, "20240501T1200", "20240501T1159"),
        (_MINUTE, "2024-05-01T12:00:00,5+02", "2024-05-01T11:59:00,500+02"),
        (_MINUTE, "2024-05-01T12:00Z", "2024-05-01T11:59Z"),
        (_MINUTE, "2024-05-01T12Z", "2024-05-01T11Z"),
        (_MINUTE, "2024-W18-3T12:00:00Z", "2024-W18-3T11:59:00Z"),
        (_MINUTE, "2024W183T120000Z", "2024W183T115900Z"),
        (_MINUTE, "2024-W18", "2024-W17"),
        (_MINUTE, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        (NumberOrder(Decimal(300)), "1714564800", "1714564500"),
        (NumberOrder(Decimal("0.5")), "1e3", "999.5"),
        (NumberOrder(Decimal(0)), "12345678901234567890", "12345678901234567890"),
        (TextOrder(), "01HX", "01HX"),
    ],
)
def test_a_round_asks_as_the_api_writes_rounded_down(order: ValueOrder, value: str, asked: str) -> None:
    at = order.value(value)
    assert order.back(at, at).text == asked
    assert order.rank(str(at.rank)) == at.rank


@pytest.mark.parametrize(
    ("order", "earlier", "later"),
    [
        (_MINUTE, "2024-05-01T12:00:00+02:00", "2024-05-01T11:00:00Z"),
        (_MINUTE, "2024-05-01", "2024-05-01T00:00:01"),
        (NumberOrder(Decimal(0)), "9", "10"),
        (NumberOrder(Decimal(0)), "12345678901234567.89", "12345678901234567.9"),
        (TextOrder(), "10", "9"),
    ],
)
def test_values_compare_as_what_they_are(order: ValueOrder, earlier: str, later: str) -> None:
    assert order.value(earlier).rank < order.value(later).rank


@pytest.mark.parametrize(
    ("order", "text", "said"),
    [
        (_MINUTE, "yesterday", "is no time in ISO 8601"),
        (_MINUTE, "1714564800.5", "is no time in ISO 8601"),
        (NumberOrder(Decimal(0)), "x", "is no number"),
        (NumberOrder(Decimal(0)), "1e999999", "no number that can be compared"),
        (NumberOrder(Decimal(0)), "NaN", "no number that can be compared"),
    ],
)
def test_what_is_no_value_is_said(order: ValueOrder, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        order.value(text)


_ZONES = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_TIMES = st.builds(
    lambda seconds, microseconds, zone: (
        datetime.fromtimestamp(seconds, zone) + timedelta(microseconds=microseconds)
    ),
    st.integers(-(10**9), 10**10),
    st.integers(0, 999_999),
    _ZONES,
)


@given(
    value=_TIMES,
    like=_TIMES,
    separator=st.sampled_from("T "),
    precision=st.sampled_from(["seconds", "milliseconds", "microseconds"]),
    overlap_ms=st.integers(0, 10**9),
)
def test_what_is_asked_for_is_never_later_and_less_than_a_second_earlier(
    *, value: datetime, like: datetime, separator: str, precision: Any, overlap_ms: int
) -> None:
    order = TimeOrder(overlap_ms)
    at = order.value(value.isoformat())
    found = order.back(at, order.value(like.isoformat(separator, precision)))
    assert 0 <= at.rank - overlap_ms * 1_000 - found.rank < 1_000_000
    assert len(found.text) == len(like.isoformat(separator, precision))


def test_the_clock_of_the_api_says_nothing_of_times_without_a_zone() -> None:
    now = datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert _MINUTE.at(now, _MINUTE.value("2024-05-01T12:00:00")) is None
    at = _MINUTE.at(now, _MINUTE.value("2024-05-01T12:00:00-05:00"))
    assert at is not None
    assert at.rank == _MINUTE.value("2024-05-01T12:00:00Z").rank


@given(
    value=_TIMES,
    date=st.sampled_from(["2024-05-01", "20240501", "2024-W18-3", "2024W183"]),
    time=st.sampled_from(
        ["", "T12", "T12:30", "T1230", " 12:30:01", "T123001", "t123001,5", "T12:30:01.123"]
    ),
    zone=st.sampled_from(["", "Z", "z", "+02:00", "-0530", "+02"]),
)
def test_a_round_asks_in_the_form_that_the_api_writes(
    value: datetime, date: str, time: str, zone: str
) -> None:
    like = date + time + (zone if time else "")
    asked = _MINUTE.back(_MINUTE.value(value.isoformat()), _MINUTE.value(like)).text
    assert form_of(asked) == form_of(like)


def form_of(text: str) -> str:
    """Return a text without its digits. Fractions have three of them or six."""
    return re.sub(r"\d", "0", re.sub(r"([.,])\d+", r"\1", text)).replace("-", "+")
