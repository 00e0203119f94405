"""Options of formats that have types."""

from __future__ import annotations

import pytest

from headwater.connector.sources.files.source import configure_files
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness


def configure(**options: str) -> None:
    given = {"path": "/in", "format": "avro", **options}
    configure_files({key.lower(): value for key, value in given.items()}, Boundedness.BOUNDED)


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("avroSchemaUrl", "/schemas/a.avsc", "as avroSchema"),
        ("ignoreExtension", "false", "pathGlobFilter"),
        ("positionalFieldMatching", "true", "rename columns"),
        ("enableStableIdentifiersForUnionType", "true", "member0"),
        ("stableIdentifierPrefixForUnionType", "m_", "enableStableIdentifiersForUnionType"),
        ("recursiveFieldMaxDepth", "3", "contains itself"),
    ],
)
def test_options_of_spark_avro_that_cannot_be_kept_are_refused_by_name(
    option: str, value: str, why: str
) -> None:
    with pytest.raises(OptionError, match=rf"option '{option}'.*{why}"):
        configure(**{option: value})


def test_options_of_spark_avro_that_say_the_default_are_taken() -> None:
    configure(
        ignoreExtension="true",
        positionalFieldMatching="false",
        enableStableIdentifiersForUnionType="false",
        recursiveFieldMaxDepth="-1",
    )


@pytest.mark.parametrize("option", ["path", "paths", "basePath"])
@pytest.mark.parametrize(
    "url", ["sftp://ann:secret@host/in", "s3://key:secret@bucket/in", "ftp://:secret@host/in"]
)
def test_a_path_with_a_password_is_refused_since_checkpoints_would_keep_it(option: str, url: str) -> None:
    with pytest.raises(OptionError, match=rf"option '{option}'.*storageOptions") as refusal:
        configure(**{option: url})
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["abfss://in@account.dfs.core.windows.net/a", "s3://bucket/a:b@c", "/in/a:b@c"]
)
def test_a_path_without_a_password_is_taken(url: str) -> None:
    configure(path=url)
