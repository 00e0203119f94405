"""The options that CSV and JSON share."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.connector.sources.files.source import FilesSource, configure_files
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.readers.files.text_settings import RecordSettings
from headwater.readers.formats.bad_records import BadRecordsLocation

BATCH = Boundedness.BOUNDED


def _source(**options: str) -> FilesSource:
    given = {"path": "/in", "format": "json", **options}
    source = configure_files({key.lower(): value for key, value in given.items()}, BATCH).source
    assert isinstance(source, FilesSource)
    return source


def test_each_option_becomes_a_setting() -> None:
    found = _source(
        mode="FAILFAST",
        columnNameOfCorruptRecord="bad",
        rescuedDataColumn="more",
        badRecordsPath="/bad",
        timeZone="Europe/Paris",
        timestampFormat="dd/MM/yyyy HH:mm",
        timestampNTZFormat="yyyy",
        dateFormat="dd/MM/yyyy",
        locale="en-US",
        samplingRatio="0.5",
    ).read.records
    assert found == RecordSettings(
        mode="failfast",
        corrupt_column="bad",
        rescued_column="more",
        bad_records=BadRecordsLocation(path="/bad"),
        time_zone="Europe/Paris",
        timestamp_format="dd/MM/yyyy HH:mm",
        timestamp_ntz_format="yyyy",
        date_format="dd/MM/yyyy",
        sampling_ratio=0.5,
    )


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("timeZone", "Mars/Base", "no time zone"),
        ("dateFormat", "", "must not be empty"),
        ("timestampFormat", "yyyy VV", "VV|V"),
        ("locale", "fr-FR", "must be en-US"),
        ("samplingRatio", "0", "greater than 0"),
        ("samplingRatio", "many", "greater than 0"),
        ("badRecordsPath", "bad", "absolute"),
        ("compression", "gzip", "suffix of a file's name"),
        ("rescuedDataColumn", "_corrupt_record", "columnNameOfCorruptRecord"),
    ],
)
def test_what_cannot_be_done_is_refused_by_the_name_of_the_option(option: str, value: str, why: str) -> None:
    with pytest.raises(OptionError, match=rf"{option}.*({why})"):
        _source(**{option: value})


@pytest.mark.parametrize(
    ("option", "file_format"), [("rescuedDataColumn", "text"), ("badRecordsPath", "parquet")]
)
def test_what_is_not_for_a_format_is_refused(option: str, file_format: str) -> None:
    with pytest.raises(OptionError, match=rf"{option}.*json.*not for '{file_format}'"):
        _source(format=file_format, **{option: "/x"})


def test_a_given_schema_must_have_the_columns_as_strings() -> None:
    source = _source(rescuedDataColumn="more")
    with pytest.raises(OptionError, match=r"rescuedDataColumn.*needs the column"):
        source.with_schema(pa.schema([("a", pa.int64())]), given=True)
    with pytest.raises(OptionError, match=r"rescuedDataColumn.*must be a string"):
        source.with_schema(pa.schema([("more", pa.int64())]), given=True)
    corrupt = pa.schema([("more", pa.string())]).append(pa.field("_corrupt_record", pa.int64()))
    with pytest.raises(OptionError, match=r"columnNameOfCorruptRecord.*must be a string"):
        source.with_schema(corrupt, given=True)


def test_a_column_of_points_in_time_needs_a_zone_from_the_option_or_from_the_session() -> None:
    times = pa.list_(pa.timestamp("us", "UTC"))
    schema = pa.schema([pa.field("at", pa.struct([pa.field("x", times)]))])
    with pytest.raises(OptionError, match="timeZone"):
        _source().with_schema(schema, given=True).create_emitter()
    _source(timeZone="UTC").with_schema(schema, given=True).create_emitter()
    _source().with_schema(pa.schema([("at", pa.timestamp("us"))]), given=True).create_emitter()
