"""Documents of JSON as values, and what is taken for JSON beyond it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headwater.readers.formats.format import FormatOptions, Spans
from headwater.readers.formats.json import layout
from headwater.readers.formats.json.documents import json_values
from headwater.readers.formats.json.json_decoder import JsonDecoder

ALL = 127


def values(documents: list[bytes], rules: int = layout.AS_IT_IS) -> list[tuple[int, bytes | None]]:
    """Return the values with the numbers of their documents."""
    sizes = np.array([len(document) for document in documents], np.int64)
    data = np.frombuffer(b"".join([*documents, bytes(layout.BEHIND)]), np.uint8)
    found = json_values(Spans(data, np.cumsum(sizes) - sizes, sizes), rules)
    count = len(found.spans.sizes)
    numbers = range(count) if found.documents is None else found.documents.tolist()
    return [(number, found.spans.value(row)) for row, number in zip(range(count), numbers, strict=True)]


def test_objects_are_values_as_they_are_and_blank_documents_are_none() -> None:
    assert values([b'{"a":1}', b"{"]) == [(0, b'{"a":1}'), (1, b"{")]
    assert values([b"{}", b"", b" \t", b" {}"]) == [(0, b"{}"), (3, b" {}")]


def test_an_array_of_objects_is_as_many_values() -> None:
    assert values([b'[{"a":[1]} , {}]', b"[]", b"[{}]"]) == [(0, b'{"a":[1]}'), (0, b"{}"), (2, b"{}")]


@pytest.mark.parametrize("document", [b"[{},2]", b"[{},null]", b"[{}", b"[{},]", b"[[{}]]", b"5", b"x"])
def test_what_is_no_array_of_objects_is_one_value(document: bytes) -> None:
    assert values([document]) == [(0, document)]


@pytest.mark.parametrize("document", [b'{"z":-1.5+01}', b'{"z":-1.5', b'{"z":[1.5-]}', b'{"z":NaN-1}'])
def test_a_value_that_breaks_off_is_bad_whatever_is_noted_behind_it(document: bytes) -> None:
    data = np.frombuffer(document + bytes(layout.BEHIND), np.uint8)
    whole = np.array([len(document)], np.int64)
    found = json_values(Spans(data, np.zeros(1, np.int64), whole), ALL)
    assert found.rewriting is not None
    # Places of bytes inside of numbers mean nothing: they may be anything.
    found.rewriting.places[6:] = np.iinfo(np.int32).max
    decoder = JsonDecoder(pa.schema([("z", pa.string())]), FormatOptions(), exact=True)
    bad = decoder.append(found.spans, found.rewriting)
    assert bad is not None
    assert bad.rows.tolist() == [0]


def test_more_objects_than_there_was_room_for() -> None:
    many = b"[" + b",".join([b"{}"] * 5_000) + b"]"
    assert values([b"{}", many, b"[{}]"]) == [(0, b"{}"), *[(1, b"{}")] * 5_000, (2, b"{}")]


@pytest.mark.parametrize(
    ("document", "rules", "expected"),
    [
        (b"{a:1}", ALL, b'{"a":1}'),
        (b"{a:1}", layout.PLAIN_RULES, b"{a:1}"),
        (b"{/*x*/}//y", ALL, b"{ } "),
        (b'{"a":-007.5}', ALL, b'{"a":-7.5}'),
        (b'{"a":"\\q\x01"}', ALL, b'{"a":"q\\u0001"}'),
        (b'{"a":NaN}', 0, b'{"a":\x01'),
        (b"{'a':1}", 0, b"{\x01"),
        (b'{"a":"\xff"}', ALL, b'{"a":"\x01'),
        (b'{"a":"\xed\xa0\x80"}', ALL, b'{"a":"\x01'),
        (b'{"a":"\xc1\xbf"}', ALL, b'{"a":"\x7f"}'),
        (b"\xef\xbb\xbf{}", layout.PLAIN_RULES, b"{}"),
    ],
)
def test_documents_are_rewritten_by_rules(document: bytes, rules: int, expected: bytes) -> None:
    assert values([document], rules) == [(0, expected)]
