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
