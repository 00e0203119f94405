"""Patterns of dates and times: what a column takes by one, and which patterns are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.json.json_format import JsonValueFormat
from headwater.readers.formats.values.time_pattern import PatternError, program_of
from tests.readers.formats.json.json_values import plain, spans

DAY = 86_400_000_000


def times(pattern: str, *texts: str) -> list[int | None]:
    """Return microseconds since 1970-01-01, in a zone an hour before UTC."""
    options = FormatOptions(timestamp_format=pattern, time_zone="+01:00")
    schema = pa.schema([("a", pa.timestamp("us", "UTC"))])
    decoder = JsonValueFormat(schema.serialize().to_pybytes(), options).decoder()
    decoder.append(spans([f'{{"a":"{text}"}}'.encode() for text in texts]))
    return plain(decoder.finish()[0])


def micros(*parts: int) -> int:
    return round(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[misc,arg-type]


def test_a_time_is_read_by_its_pattern_and_by_no_other() -> None:
    found = times(
        "dd/MM/yyyy HH:mm", "02/01/2026 04:05", "2/1/2026 4:5", "2026-01-02T04:05:00", "02/01/2026 04:05 "
    )
    assert found == [micros(2026, 1, 2, 3, 5), None, None, None]


def test_an_offset_in_the_text_counts_more_than_the_zone() -> None:
    assert times("yyyy-MM-dd HH[XXX]", "2026-01-02 04", "2026-01-02 04Z", "2026-01-02 04+02:00") == [
        micros(2026, 1, 2, 3),
        micros(2026, 1, 2, 4),
        micros(2026, 1, 2, 2),
    ]


def test_months_and_halves_of_a_day_are_english_words_in_any_case() -> None:
    texts = ("2 Jan 2026 12 am", "2 JAN 2026 12 PM", "2 jan 2026 1 PM", "2 Jänner 2026 1 PM")
    days = [found and found + 3_600_000_000 - micros(2026, 1, 2) for found in times("d MMM y h a", *texts)]
    assert days == [0, DAY // 2, DAY // 24 * 13, None]


def test_a_fraction_has_as_many_digits_as_there_are() -> None:
    hour = -3_600_000_000
    assert times("s.SSS", "1.5", "1.25", "1.125", "1.1259", "1.") == [
        hour + 1_500_000,
        hour + 1_250_000,
        hour + 1_125_000,
        None,
        None,
    ]


def test_what_a_section_has_found_is_taken_back_if_the_section_does_not_fit() -> None:
    assert times("y[-M-d][/D]", "1970-1-2", "1970/3", "1970-1", "1970") == [
        DAY - 3_600_000_000,
        2 * DAY - 3_600_000_000,
        None,
        -3_600_000_000,
    ]


def test_a_day_that_does_not_exist_is_bad() -> None:
    assert times("yyyyMMdd", "20260230", "20260229", "20240229")[:2] == [None, None]
    assert times("yyyyMMddHHmmss", "20240229235959") == [micros(2024, 2, 29, 22, 59, 59)]


def test_a_date_has_a_pattern_of_its_own() -> None:
    options = FormatOptions(timestamp_format="y", date_format="d.M.y", timestamp_ntz_format="H:m")
    fields: dict[str, pa.DataType] = {"d": pa.date32(), "n": pa.timestamp("us")}
    decoder = JsonValueFormat(pa.schema(fields).serialize().to_pybytes(), options).decoder()
    assert decoder.append(spans([b'{"d":"3.1.1970","n":"1:2"}'])) is None
    assert [plain(column) for column in decoder.finish()] == [[2], [3_720_000_000]]


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("YYYY-MM-dd", "'YYYY': weeks"),
        ("yyyy-MM-dd EEE", "'EEE': a day of the week"),
        ("yyyy G", "'G': an era"),
        ("HH:mm z", "'z': the name of a zone"),
        ("VV", "'VV': the name of a zone"),
        ("ZZZZ", "ZZZZ"),
        ("ddd", "'ddd', which Spark does not take"),
        ("yyyy-MM-dd'T", "without its other one"),
        ("yyyy]", r"']' without '\['"),
        ("{yyyy}", "quotation marks"),
        ("é", "not ASCII"),
        ("[" * 9, "more than 8"),
        ("SSS''", "quotation marks"),
    ],
)
def test_a_pattern_without_a_faithful_translation_is_refused_by_its_letters(
    pattern: str, letters: str
) -> None:
    with pytest.raises(PatternError, match=letters):
        program_of(pattern)
