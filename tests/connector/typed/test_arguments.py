"""The arguments of typed readers: one for each option that counts, with a type that says what it takes."""

from __future__ import annotations

import inspect
import keyword

import pytest

from headwater import options_of, read, read_stream
from headwater.connector.sources.built_in import BUILT_IN
from headwater.connector.typed.arguments import Argument, arguments_of
from headwater.core.source import Boundedness

BATCH = Boundedness.BOUNDED
STREAM = Boundedness.CONTINUOUS_UNBOUNDED
MODULES = {BATCH: read, STREAM: read_stream}

each_reader = pytest.mark.parametrize(
    ("source", "boundedness"),
    [(source, boundedness) for source in BUILT_IN for boundedness in (BATCH, STREAM)],
    ids=lambda value: value if isinstance(value, str) else value.name.lower(),
)


def _by_name(source: str, boundedness: Boundedness = BATCH) -> dict[str, Argument]:
    return {argument.name: argument for argument in arguments_of(source, boundedness)}


def test_every_built_in_source_has_typed_readers() -> None:
    assert set(BUILT_IN) == set(read.__all__) == set(read_stream.__all__)


@each_reader
def test_every_option_that_counts_has_an_argument(source: str, boundedness: Boundedness) -> None:
    counting = {
        row.name
        for row in options_of(source).rows
        if row.only in (None, boundedness) and not row.help.startswith("Refused")
    }
    named = {argument.option for argument in arguments_of(source, boundedness)}
    assert counting - named <= {"paths", "delimiter", "charset"}, "but for other names of options"
    more = {"kafka.bootstrap.servers", "", *options_of(source).prefixes}
    assert named - counting <= more


@each_reader
def test_names_are_different_and_can_be_written(source: str, boundedness: Boundedness) -> None:
    names = [argument.name for argument in arguments_of(source, boundedness)]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and not keyword.iskeyword(name) and name.islower() for name in names)
    assert {"spark", "schema"}.isdisjoint(names)


@each_reader
def test_the_signature_has_them_in_this_order(source: str, boundedness: Boundedness) -> None:
    function = getattr(MODULES[boundedness], source)
    parameters = inspect.signature(function).parameters
    arguments = arguments_of(source, boundedness)
    assert list(parameters) == ["spark", *(argument.name for argument in arguments), "schema"]
    for argument in arguments:
        parameter = parameters[argument.name]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameter.default is inspect.Parameter.empty) == argument.required
        assert f"    {argument.name}: " in function.__doc__


@pytest.mark.parametrize(
    ("source", "name", "annotation"),
    [
        ("kafka", "servers", "str | Sequence[str]"),
        ("kafka", "topics", "str | Sequence[str]"),
        ("kafka", "fail_on_data_loss", "bool"),
        ("kafka", "starting_offsets", "str | Mapping[str, Any]"),
        ("kafka", "value_timestamp_ntz_format", None),
        ("kafka", "timestamp_ntz_format", "str"),
        ("kafka", "mode", 'Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]'),
        ("kafka", "schema_registry_url", "str | Sequence[str]"),
        ("kafka", "properties", "Mapping[str, str]"),
        ("files", "path", "str | Sequence[str]"),
        ("files", "modified_after", "str | datetime"),
        ("http", "headers", "Mapping[str, str]"),
        ("demo", "disorder", "str | int | timedelta"),
    ],
)
def test_types_say_what_is_taken(source: str, name: str, annotation: str | None) -> None:
    argument = _by_name(source).get(name)
    assert (argument and argument.annotation) == annotation


def test_options_of_the_other_mode_are_no_arguments() -> None:
    assert "ending_offsets" in _by_name("kafka", BATCH)
    assert "ending_offsets" not in _by_name("kafka", STREAM)
    assert "max_offsets_per_trigger" in _by_name("kafka", STREAM)
    assert "max_offsets_per_trigger" not in _by_name("kafka", BATCH)
    assert not _by_name("mqtt", BATCH)["broker"].default.startswith("none")
    assert _by_name("mqtt", STREAM)["client_id"].required


@each_reader
def test_the_help_of_an_argument_that_takes_a_list_names_no_commas(
    source: str, boundedness: Boundedness
) -> None:
    lists = [one for one in arguments_of(source, boundedness) if "Sequence[str]" in one.annotation]
    assert not [one.name for one in lists if "commas" in one.help]
