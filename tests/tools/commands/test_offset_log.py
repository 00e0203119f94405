"""Entries of Spark's offset log: each layout comes back as it was, and others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.tools.commands.offset_log import LayoutError, OffsetLogEntry
from headwater.tools.commands.spark_checkpoint import checksum_file, checksum_name

SAMPLES = Path(__file__).parent / "spark_checkpoints"
ENTRIES = sorted(path for path in SAMPLES.glob("*/*/offsets/*") if path.name.isdecimal())


def test_there_are_samples_of_both_layouts_and_of_each_spark() -> None:
    found = {(path.relative_to(SAMPLES).parts[0], path.read_text().split("\n")[0]) for path in ENTRIES}
    assert found == {(spark, layout) for spark in ("spark-4.2.0", "spark-4.3.0") for layout in ("v1", "v2")}


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: "-".join(path.relative_to(SAMPLES).parts))
def test_an_entry_that_spark_wrote_comes_back_byte_for_byte(path: Path) -> None:
    assert OffsetLogEntry.parse(path.read_text()).text().encode() == path.read_bytes()


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: "-".join(path.relative_to(SAMPLES).parts))
def test_the_checksum_file_is_the_one_that_hadoop_wrote(path: Path) -> None:
    assert checksum_name(f"offsets/{path.name}") == f"offsets/.{path.name}.crc"
    assert checksum_file(path.read_bytes()) == path.with_name(f".{path.name}.crc").read_bytes()


def test_sources_have_their_numbers_or_their_names() -> None:
    numbered = OffsetLogEntry.parse('v1\n{}\n{"t":{"0":5}}\n-\n{"logOffset":3}')
    assert numbered.offsets == {"0": '{"t":{"0":5}}', "1": "-", "2": '{"logOffset":3}'}
    named = OffsetLogEntry.parse('v2\n{}\nb:{"t":{"0":5}}\na:-')
    assert named.offsets == {"b": '{"t":{"0":5}}', "a": "-"}
    assert named.with_offsets({"b": "{}"}).text() == "v2\n{}\nb:{}\na:-"
    without_metadata = OffsetLogEntry.parse("v1\n\n{}\n")
    assert without_metadata.text() == "v1\n\n{}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v3\n{}\n{}", "has the layout v3, and this headwater knows v1 and v2: install a newer one"),
        ('{"t":{"0":5}}', "does not begin with a version"),
        ("", "does not begin with a version"),
        ("v1\n{}", "ends before the first offset"),
        ("v2\n{}\nno name", "a line without the name of its source"),
    ],
)
def test_what_is_no_entry_or_a_later_one_is_refused(text: str, said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        OffsetLogEntry.parse(text)
