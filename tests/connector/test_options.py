"""What a slip of the hand in an option produces."""

from __future__ import annotations

import logging

import pytest

import headwater as hw
from headwater.connector.compat import require_spark
from headwater.connector.options import OptionTable
from headwater.connector.spark.datasource import HeadwaterDataSource
from headwater.core.errors import InstallationError, OptionError
from headwater.core.options import Option, boolean, duration_ms, integer, json_object, names, one_of, text
from headwater.core.source import Boundedness

BATCH, STREAM = Boundedness.BOUNDED, Boundedness.CONTINUOUS_UNBOUNDED
MAX_THINGS = Option("maxThings", integer(1), 7, "how many")
ENDING_THING = Option("endingThing", text, None, "where to end", BATCH)
MIN_THINGS = Option("minThings", integer(), None, "at least", STREAM)
TABLE = OptionTable([MAX_THINGS, ENDING_THING, MIN_THINGS], prefixes=("outside.",))


def test_every_option_has_a_value_and_case_does_not_matter() -> None:
    parsed = TABLE.parse({"MAXthings": "3"}, STREAM)
    assert parsed.by_name() == {"maxThings": 3, "endingThing": None, "minThings": None}
    assert TABLE.parse({}, None)[MAX_THINGS] == 7


def test_an_option_that_only_some_tables_have_has_its_default_in_the_others() -> None:
    elsewhere = Option("filters", boolean, default=True, help="")
    parsed = TABLE.parse({}, STREAM)
    assert parsed.get(elsewhere) is True
    assert parsed.get(MAX_THINGS) == 7
    with pytest.raises(KeyError, match="filters"):
        parsed[elsewhere]


def test_an_option_that_is_needed_here_is_named_as_the_table_spells_it() -> None:
    assert TABLE.parse({"minthings": "2"}, STREAM).require(MIN_THINGS) == 2
    with pytest.raises(OptionError, match=r"^option 'minThings': is required: how many must be there\?$"):
        TABLE.parse({}, STREAM).require(MIN_THINGS, ": how many must be there?")


def test_an_unknown_option_names_the_nearest_valid_one() -> None:
    with pytest.raises(
        OptionError, match=r"option 'maxthing': is not an option of this source; did you mean 'maxThings'\?"
    ):
        TABLE.parse({"maxthing": "3"}, STREAM)
    with pytest.raises(OptionError, match="valid are maxThings, endingThing, minThings"):
        TABLE.parse({"zzz": "3"}, STREAM)


LARGE = OptionTable([Option(f"option{n}", boolean, default=True, help="") for n in range(15)], ("kafka.",))


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("retrydeadline", "valid are option0, .*, option11, and 3 more, which hw.options_of.source. shows$"),
        ("path", r"it is what .load\(...\) was given: load\(\) takes nothing here$"),
        ("bootstrap.servers", "did you mean 'kafka.bootstrap.servers'[?]$"),
    ],
)
def test_a_hint_is_short_and_never_a_wild_guess(given: str, hint: str) -> None:
    with pytest.raises(OptionError, match=f"option '{given}': is not an option of this source; {hint}"):
        LARGE.parse({given: "x"}, STREAM)


@pytest.mark.parametrize(
    ("source", "given", "said"),
    [
        ("files", "subscribe", "option 'subscribe': is an option of the source kafka, not of files"),
        (
            "mqtt",
            "stopatrecord",
            "option 'stopAtRecord': is an option of the source kafka, not of mqtt; here what is behind",
        ),
        ("files", "kafka.acks", "option 'kafka.acks': is an option of the source kafka, not of files"),
        ("Demo", "clientid", "option 'clientId': is an option of the source mqtt, not of demo"),
        (
            "demo",
            "barrierrows",
            "option 'barrierRows': is an option of the sources http, kinesis and mqtt, not of demo",
        ),
        (
            "tests.simple_sources:LogSource",
            "url",
            "option 'url': is an option of the sources http, postgres and redis, ",
        ),
        ("kafka", "path", "option 'path': is an option of the source files, not of kafka; it is what .load("),
        (
            "kafka",
            "maxrowspertrigger",
            "option 'maxRowsPerTrigger': is an option of the sources demo, hybrid, nats, rabbitmq and redis",
        ),
        ("files", "retries", "option 'retries': is not an option of this source; valid are format, "),
    ],
)
def test_an_option_of_another_source_is_answered_with_the_source_that_has_it(
    source: str, given: str, said: str
) -> None:
    with pytest.raises(OptionError) as refused:
        HeadwaterDataSource({"source": source, given: "1"}).schema()
    assert hw.explain(refused.value).startswith(said)


def test_a_batch_option_in_a_stream_is_an_error() -> None:
    with pytest.raises(OptionError, match="option 'endingThing': is only for a batch read"):
        TABLE.parse({"endingthing": "x"}, STREAM)


def test_a_stream_option_in_a_batch_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert TABLE.parse({"minthings": "1"}, BATCH)[MIN_THINGS] is None
    assert "'minThings' counts only in a stream" in caplog.text


def test_a_table_shows_itself_at_a_prompt_and_in_a_notebook() -> None:
    table = hw.options_of("demo")
    assert "rowsPerSecond (1000)\n    How many orders become visible in a second" in repr(table)
    assert "maxRowsPerTrigger (stream only)\n" in repr(table)
    shown = table._repr_html_()
    assert shown.startswith("<table><tr><th>option</th>")
    assert '<td style="text-align: left"><code>disorder</code></td>' in shown
    assert "`" not in shown


def test_a_help_text_is_no_html() -> None:
    help_text = "Less is `x < y` & <b>more</b>, see [the page](page.md)."
    table = OptionTable([Option("a", text, None, help_text, required=True)])
    shown = "Less is <code>x &lt; y</code> &amp; &lt;b&gt;more&lt;/b&gt;, see the page."
    assert shown in table._repr_html_()
    assert "see the page." in repr(table)
    assert repr(table).startswith("a (required)\n")


@pytest.mark.parametrize("source", ["demo", "files", "http", "kafka", "mqtt", "postgres"])
def test_options_are_known_by_the_name_of_the_source(source: str) -> None:
    table = hw.options_of(source.upper())
    assert table.rows
    assert table is hw.options_of(source)


def test_options_of_what_is_no_source_are_an_error() -> None:
    with pytest.raises(OptionError, match="did you mean 'kafka'"):
        hw.options_of("kafak")


def test_what_has_a_prefix_is_left_to_the_source() -> None:
    given = {"outside.a.b": "1", "maxthings": "2"}
    assert TABLE.parse(given, STREAM)[MAX_THINGS] == 2


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("500", 500),
        ("500ms", 500),
        ("10s", 10_000),
        ("15m", 900_000),
        ("15 minutes", 900_000),
        ("1h", 3_600_000),
        ("1 day", 86_400_000),
    ],
)
def test_durations(raw: str, expected: int) -> None:
    assert duration_ms(raw) == expected


@pytest.mark.parametrize(
    ("parse", "raw"),
    [
        (duration_ms, "soon"),
        (duration_ms, "5 parsecs"),
        (integer(1), "0"),
        (integer(), "1.5"),
        (integer(), "1_000"),
        (boolean, "yes"),
        (names, "a,,b"),
        (names, "a,a"),
        (one_of("x", "y"), "z"),
        (json_object, "{"),
        (json_object, "[" * 100_000),
        (json_object, "[]"),
        (text, "  "),
    ],
)
def test_malformed_values_are_refused(parse: object, raw: str) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match=r"must|is not valid"):
        parse(raw)


def test_a_source_must_be_named_and_known() -> None:
    with pytest.raises(OptionError, match="option 'source': is required"):
        HeadwaterDataSource({}).schema()
    with pytest.raises(OptionError, match=r"no source is called 'kafak'; did you mean 'kafka'\?"):
        HeadwaterDataSource({"source": "kafak"}).schema()


def test_an_old_spark_is_refused_with_the_install_line() -> None:
    require_spark("4.2.0")
    require_spark("5.0.0.dev1")
    with pytest.raises(
        InstallationError,
        match=r"headwater needs Spark 4.2 or newer, this is PySpark 4.1.2: pip install 'pyspark>=4.2'",
    ):
        require_spark("4.1.2")
