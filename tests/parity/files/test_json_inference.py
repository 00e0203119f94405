"""Schemas inferred from JSON beside Spark's own reader."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, Meant, reading
from tests.parity.files.strategies.json import inferable_lines

ONE_BY_ONE = (
    ['{"a":1}', '{"a":2.5,"b":null}', '{"a":null,"c":""}'],
    ['{"a":1}', '{"a":true}'],
    ['{"a":99999999999999999999999}', '{"a":1}'],
    ['{"a":9223372036854775808}', '{"a":1,"b":-9223372036854775808}'],
    ['{"a":99999999999999999999999}', '{"a":0.5}'],
    [f'{{"a":{"9" * 38}}}', f'{{"a":{"9" * 39},"b":{"9" * 39}}}'],
    ['{"a":[]}', '{"a":[1,2.5]}', '{"b":[null]}', '{"c":[[]]}'],
    ['{"a":[{"x":1},{"y":"z"}]}', '{"a":{}}'],
    ['{"a":{"x":1}}', '{"a":{"y":[null]}}', '{"b":{}}'],
    ['{"a":1}', "{"],
    ['{"a":1}', "7"],
    ['{"a":1}', "null", "", "[]"],
    ['{"a":1}', '[{"b":1},{"c":"x"}]'],
    ['{"a":1}', "[1]", "[null]"],
    ['{"a":1}', '[{"b":1},2]'],
    ['{"z":1}', '[[{"a":1}],[{"b":2}]]', "[[]]"],
    ['{"_corrupt_record":1}', "{"],
    ["{'a':NaN,'b':[Infinity]}"],
    ['{"a":1e400,"b":1e-400,"c":-0,"d":1E2}'],
    ['{"":1,"a":{"":2}}', '{"b":1}'],
    ['{"\\u00e9":1}', '{"\u00e9":2.5}', '{"\U0001f600":1,"\uffff":2}'],
    ['{"a":1,"a":2}'],
    ['{"a":1,"A":2}'],
    ['{"a":"2024-01-01"}', '{"a":"12"}'],
    ['{"a":' + "1" * 1001 + "}", '{"b":1}'],
    ['{"a":' + "[" * 30 + "1" + "]" * 30 + "}"],
)
OPTIONS = (
    {"primitivesAsString": "true"},
    {"prefersDecimal": "true"},
    {"dropFieldIfAllNull": "true"},
    {"inferTimestamp": "true"},
    {"mode": "DROPMALFORMED"},
    {"mode": "FAILFAST"},
    {"columnNameOfCorruptRecord": "bad"},
    {"columnNameOfCorruptRecord": "a"},
    {"multiLine": "true"},
)


def may_differ(options: Mapping[str, str]) -> dict[str, Meant]:
    """Return what may differ of files whose schema is inferred with options."""
    meant: dict[str, Meant] = {"a schema from empty files": lambda content, *_: not content}
    if "prefersDecimal" in options:
        meant["prefersDecimal and numbers that no decimal holds"] = lambda content, *_: b"1e400" in content
    return meant


def same(parity: FilesParity, lines: Sequence[Sequence[str]], **options: str) -> None:
    contents = ["\n".join(each).encode() for each in lines]
    parity.same(reading("json", None, **options), contents, one_by_one=True, may_differ=may_differ(options))


@pytest.mark.parametrize("infer_timestamp", ["false", "true"])
def test_a_field_with_the_name_of_the_column_of_corrupt_records(
    parity: FilesParity, infer_timestamp: str
) -> None:
    lines = [['{"a":1}', "{"], ['{"a":1}', "[1]", "[null]"], ['{"a":"2024-01-01T10:00:00Z"}', "7"]]
    same(parity, lines, columnNameOfCorruptRecord="a", inferTimestamp=infer_timestamp)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("options", [{}, *OPTIONS], ids=str)
def test_drawn_files_have_the_schema_that_spark_infers(
    drawn: DrawnFiles, options: dict[str, str], *, at_length: bool
) -> None:
    how = reading("json", None, **options)
    count = 150 if at_length else 50
    drawn.same(how, inferable_lines(), count, one_by_one=True, may_differ=may_differ(options))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("options", [{}, *OPTIONS], ids=str)
def test_all_schemas_are_those_of_spark(parity: FilesParity, options: dict[str, str]) -> None:
    same(parity, ONE_BY_ONE, **options)


def test_texts_that_are_times_or_decimals(parity: FilesParity) -> None:
    times = ["2024-01-01", "2024-01-01T10:00:00Z", "2020", "2024-01-01 10:00 Europe/Paris", ""]
    same(parity, [[json.dumps({"a": {"b": [time]}}) for time in times]], inferTimestamp="true")
    same(parity, [[json.dumps({"a": time, "b": "x"})] for time in (*times, "soon")], inferTimestamp="true")
    formats = {"timestampFormat": "dd/MM/yyyy", "timestampNTZFormat": "dd.MM.yyyy HH:mm"}
    lines = ['{"a":"01/02/2024","b":"01.02.2024 10:30","c":"2024"}']
    same(parity, [lines], inferTimestamp="true", **formats)
    texts = ["1.50", "-0.05", "1e-5", "1,5", "x", "1" * 39, " 1", "+7", "1.", ".5", "NaN"]
    same(parity, [[json.dumps({"a": text, "b": 1.25})] for text in texts], prefersDecimal="true")
    numbers = ["0.05", "1.50", "12345678901234567890123456789012345678.5", "0.0", "123e-2"]
    same(parity, [[f'{{"a":{number}}}', '{"a":7}'] for number in numbers], prefersDecimal="true")


def test_numbers_that_are_to_be_strings_are_no_times(parity: FilesParity) -> None:
    lines = [
        '{"a":1,"b":"2024-01-01T00:00:00","c":[1],"d":{"x":true}}',
        '{"a":null,"c":["2024-01-01T00:00:00"],"d":{"y":"2024-01-01"}}',
    ]
    same(parity, [lines], inferTimestamp="true", primitivesAsString="true")


def test_what_is_no_number_breaks_a_record_of_decimals(parity: FilesParity) -> None:
    lines = [
        '{"b":1,"a":NaN}',
        '{"z":1.5,"s":"NaN Infinity","t":"it\'s I"}',
        '[{"c":2},{"a":-INF}]',
        "{'d':Infinity}",
    ]
    same(parity, [lines, lines[1:2]], prefersDecimal="true")
    same(parity, [lines], prefersDecimal="true", primitivesAsString="true")
    same(parity, [lines], prefersDecimal="true", mode="DROPMALFORMED")
    same(parity, [lines], prefersDecimal="true", mode="FAILFAST")


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd HH:mm", "yyyy", "yyyy-MM-dd'T'HH:mm:ssXXX"])
def test_only_texts_that_follow_the_pattern_are_times(parity: FilesParity, pattern: str) -> None:
    texts = ["2024", "2024-01-05", "2024-01-05 10:00", "2024-01-05T10:00:00", "2024-01-05T10:00:00+01:00"]
    lines = [[json.dumps({f"t{at}": text}) for at, text in enumerate([*texts, "2024-01-05GMT"])]]
    same(parity, lines, inferTimestamp="true", timestampFormat=pattern)
    lenient = {"enableDateTimeParsingFallback": "true"}
    same(parity, lines, inferTimestamp="true", timestampFormat=pattern, **lenient)
    same(parity, [*lines, [json.dumps({"t": texts[2]}), json.dumps({"t": texts[3]})]], inferTimestamp="true")


def test_all_files_together_have_one_schema(parity: FilesParity) -> None:
    files = [
        b'{"a":1,"b":{"x":1}}\n',
        b'{"a":2.5,"b":{"y":"z"}}\n',
        b'{"c":[1]}\n{"c":[9223372036854775808]}',
    ]
    parity.same(reading("json"), files)


def test_deep_json_is_an_error_and_no_more(parity: FilesParity) -> None:
    content = b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"
    assert parity.both(reading("json"), [content], one_by_one=True)[1] == [Failed()]


def test_the_records_that_a_schema_is_inferred_from_differ(parity: FilesParity) -> None:
    # Each tenth record has another member: those that are looked at here.
    lines = ['{"b":1}' if at % 10 == 9 else '{"a":1}' for at in range(2_000)]
    with pytest.raises(AssertionError, match="the schemas differ"):
        parity.differs(
            "a part of the records of JSON", reading("json", samplingRatio="0.1"), "\n".join(lines).encode()
        )


def test_corrupt_records_alone_differ(parity: FilesParity) -> None:
    spark, ours = parity.differs("corrupt records alone", reading("json"), b'{"_corrupt_record":"x"}\n{')
    assert isinstance(spark, Failed)
    assert ours == [(None,), ("{",)]


def test_names_that_differ_in_case_differ(parity: FilesParity) -> None:
    spark, ours = parity.differs(
        "names that differ in case", reading("json"), b'{"n":{"a":1}}\n{"n":{"A":2}}'
    )
    assert not isinstance(spark, Failed)
    assert ours == Failed()


def test_numbers_that_no_decimal_holds_differ(parity: FilesParity) -> None:
    how = reading("json", prefersDecimal="true")
    spark, ours = parity.differs("prefersDecimal and numbers that no decimal holds", how, b'{"a":1e5}')
    assert (spark, ours) == (Failed(), [(4681608360884174848,)])


@pytest.mark.parametrize("options", [{}, {"multiLine": "true"}], ids=["lines", "whole"])
def test_whatever_stands_behind_a_whole_value_is_not_looked_at(
    parity: FilesParity, options: dict[str, str]
) -> None:
    for behind in ('"', "'", ' "x', " NaN", " {", " [1", " -Infinity", "}", " 'y'"):
        same(parity, [['{"a":1.5}' + behind]], prefersDecimal="true", **options)
