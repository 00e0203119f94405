"""Whole files as documents, encodings and what is allowed beyond JSON, beside Spark's own reader."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace

import pytest

from tests.parity.files.files_parity import FilesParity, reading
from tests.parity.files.test_json import SIMPLE

DOCUMENTS = (
    b'[{"a":1},\n {"a":2,"s":{"x":  1.10}}]',
    b'{"a":1}\n{"a":2}',
    b"",
    b"  \n\n",
    b'{\n"a":\n1\n,"s":\r\n"x"}',
    b'{\n"a":\n1',
    b'[{"a":1},{"a":"x"},{"a":3}]',
    b'[{"a":1},{"a":2}',
    b"[]",
    b"[\n\n]",
    b"null",
    b'\xef\xbb\xbf{"a":1,"s":{"x":  2}}',
    b'\xef\xbb\xbf[{"a":1},{"a":2}]',
    b'{"s":"\xff"}',
    b'[{"a":1}] trailing',
)


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_a_file_is_one_document(parity: FilesParity, mode: str) -> None:
    how = reading("json", SIMPLE, multiLine="true", mode=mode)
    parity.same(how, DOCUMENTS)
    parity.same(replace(how, suffix=".json.gz"), [gzip.compress(document) for document in DOCUMENTS])


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_the_encoding_of_a_document_is_found_out(parity: FilesParity, codec: str) -> None:
    documents = ['{"a":1,"s":"\u00e9\U0001f600"}', '[{"a":1},{"a":2}]']
    how = reading("json", "a long, s string", multiLine="true")
    parity.same(how, [document.encode(codec) for document in documents])


def test_values_of_files_in_utf_16_as_text_differ(parity: FilesParity) -> None:
    how = reading("json", SIMPLE, multiLine="true")
    content = '{"a":1,"s":{"x":  1}}'.encode("utf-16")
    spark, ours = parity.differs("values of files in UTF-16 as text", how, content)
    assert isinstance(spark, list)
    assert spark[0][:2] == (1, None)
    assert ours == [(1, '{"x":  1}', None, None)]


@pytest.mark.parametrize(
    ("encoding", "codec"),
    [
        ("UTF-8", "utf-8"),
        ("UTF-16LE", "utf-16-le"),
        ("UTF-16BE", "utf-16-be"),
        ("ISO-8859-1", "latin-1"),
        ("US-ASCII", "latin-1"),
    ],
)
def test_lines_in_an_encoding_that_is_named(parity: FilesParity, encoding: str, codec: str) -> None:
    lines = '{"a":1,"s":"\u00e9"}\n{"a":2,"s":{"x":  1.10,"y":[]}}\n\n{"a":"x"}\n[{"a":4},{"a":5}]'
    broken = '{"a":1,"s":"'.encode(codec) + b"\x00\xd8" + '"}'.encode(codec)
    files = [lines.encode(codec), broken]
    parity.same(reading("json", SIMPLE, encoding=encoding, lineSep="\n"), files)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "UTF-32", "UTF-16LE", "ISO-8859-1"])
def test_a_document_in_an_encoding_that_is_named(parity: FilesParity, encoding: str) -> None:
    codec = "latin-1" if encoding == "ISO-8859-1" else encoding.lower()
    files = ['[{"a":1,"s":"\u00e9"},\n{"a":2,"s":[1,  2.50]}]'.encode(codec), '{"a":1}'.encode(codec)]
    parity.same(reading("json", SIMPLE, encoding=encoding, multiLine="true"), files)


ALLOWED = (
    "allowComments",
    "allowUnquotedFieldNames",
    "allowSingleQuotes",
    "allowNumericLeadingZeros",
    "allowNonNumericNumbers",
    "allowBackslashEscapingAnyCharacter",
    "allowUnquotedControlChars",
)
RELAXED = (
    b'/* c */ {"a":1 /* d */, /**/ "s":"/* e */"} // f',
    b'{"a":1} // x',
    b"// nothing",
    b"/* nothing",
    b"# x",
    b"{a:1, s : 'x'}",
    b"{$a_b-c+@#*\xc3\xa9:1, a:2}",
    b"{1a:2,a:3}",
    b"{a b:1}",
    b"{'a':1,'s':'it\\'s'}",
    b'{"s":"it\\\'s"}',
    b"{'a\":1}",
    b'{"a":007,"d":-00.5}',
    b'{"a":00,"d":0.5}',
    b'{"a":0x1}',
    b'{"d":NaN,"a":1}',
    b'{"d":"NaN","a":1}',
    b'{"d":-INF,"a":1}',
    b'{"d":"+Infinity","a":1}',
    b'{"d":+1}',
    b'{"s":"x\\qy\\zz\\u0041"}',
    b'{"s":"\\u12"}',
    b'{"s":"\\\xc3\xa9"}',
    b'{"s":"a\x01b\tc"}',
    b'{"a\tb":1,"a":2}',
    b'{"x":"a\x01b","a":2}',
    b"[{a:1},{a:2}]",
    b'{"a":1',
    b"{,}",
)


@pytest.mark.parametrize("option", ALLOWED)
@pytest.mark.parametrize("value", ["true", "false"])
def test_what_is_allowed_beyond_json(parity: FilesParity, option: str, value: str) -> None:
    schema = "a long, s string, d double, _corrupt_record string"
    parity.same(reading("json", schema, **{option: value}), RELAXED)


AS_IT_STANDS = (
    b'{"s":{x:1}}',
    b"{'s':{'x':'y'} }",
    b'{"s":{"x":007}}',
    b'{"s":007}',
    b'{"s":-00.50,"a":1}',
    b'{"s":{"x":/* c */1/**/}/* d */,"a":2}',
    b'{"s" : [1,/**/2] // e',
    b'{"s":[1, // e\r2]}',
    b'{"s":{"x":"a\tb"}}',
    b'{"s":{"x":"\\q", y : [-INF,{},[ ]]}}',
    b'[{"s":{x:1}},{"s":00,"a":3}]',
    b'{"s":{"x":"\xff"}}',
    b'{"s":{"x":"\xc0\x80"},"a":1}',
    b'{"s":{"x":"\xed\xa0\x80"},"a":1}',
    b'\xef\xbb\xbf{"s":{"x":  "\xc3\xa9"},"a":1}',
    b'{"s":{"x":"\xf4\x90\x80\x80"},"a":1}',
)


@pytest.mark.parametrize("multi_line", ["true", "false"])
def test_objects_in_columns_of_strings_are_as_they_stand(parity: FilesParity, multi_line: str) -> None:
    schema = "a long, s string, _corrupt_record string"
    parity.same(reading("json", schema, multiLine=multi_line, **dict.fromkeys(ALLOWED, "true")), AS_IT_STANDS)
    parity.same(reading("json", schema, multiLine=multi_line), AS_IT_STANDS)
    together = b"\n".join(AS_IT_STANDS[:11])
    parity.same(reading("json", schema, **dict.fromkeys(ALLOWED, "true")), [together])


def test_all_of_it_together(parity: FilesParity, rng: random.Random) -> None:
    schema = "a long, s string, d double, _corrupt_record string"
    for _ in range(2):
        options = {option: rng.choice(["true", "false"]) for option in ALLOWED}
        parity.same(reading("json", schema, **options), RELAXED)
        parity.same(reading("json", schema, multiLine="true", **options), RELAXED)
