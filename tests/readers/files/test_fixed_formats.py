"""Text: rows are its lines, wherever tasks and blocks begin, and with and without the kernel."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from headwater.core.errors import MissingDependencyError
from headwater.readers.files import fixed_formats, line_format
from headwater.readers.files.lines import UniversalEnds
from headwater.readers.files.settings import METADATA_TYPE
from headwater.readers.formats.lines import lines
from tests.readers.files.reading import read, settings

BORDERS = st.lists(st.integers(1, 400), max_size=4)
ENDS = st.sampled_from(["\n", "\r\n"])
ANY = examples(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60
)
VALUE = pa.schema([pa.field("value", pa.string())])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small file has many."""
    monkeypatch.setattr(line_format.line_blocks, "__defaults__", (UniversalEnds(), 16))


@ANY
@given(
    lines=st.lists(st.text("ab é\x01\x02", max_size=20), max_size=12),
    end=ENDS,
    last=st.booleans(),
    mark=st.booleans(),
    borders=BORDERS,
)
def test_text_is_its_lines_whatever_the_borders(
    *, lines: list[str], end: str, last: bool, mark: bool, borders: list[int], tmp_path: Path
) -> None:
    text = end.join(lines) + (end if last and lines else "")
    (tmp_path / "f").write_bytes((b"\xef\xbb\xbf" if mark and text else b"") + text.encode())
    expected = text.removesuffix(end).split(end) if text else []
    assert [row["value"] for row in read(tmp_path / "f", settings("text", VALUE), borders)] == expected


def test_all_rows_of_a_range_tell_the_block_that_the_range_is(tmp_path: Path) -> None:
    schema = VALUE.append(pa.field("_metadata", METADATA_TYPE))
    (tmp_path / "f").write_text("".join(f"line {number}\n" for number in range(100)))
    size = (tmp_path / "f").stat().st_size
    rows = read(tmp_path / "f", settings("text", schema), [300])
    blocks = {(row["_metadata"]["file_block_start"], row["_metadata"]["file_block_length"]) for row in rows}
    assert blocks == {(0, 300), (300, size - 300)}


@pytest.mark.parametrize("content", [b"a\rb\r\n\xc3\xa9c\n\nd", b"a\nb\n", b""])
def test_text_is_read_without_numba_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    (tmp_path / "f").write_bytes(content)
    expected = read(tmp_path / "f", settings("text", VALUE))

    def missing() -> None:
        raise MissingDependencyError("numba", needed_for="lines of files", extra="formats")

    monkeypatch.setattr(lines.KERNEL, "load", missing)
    fixed_formats.kernel_lines.cache_clear()
    try:
        assert read(tmp_path / "f", settings("text", VALUE)) == expected
    finally:
        fixed_formats.kernel_lines.cache_clear()


def test_a_lone_carriage_return_ends_a_line_of_text_as_in_spark(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\rb\r\n\x01\x02\x03\x04\x05\x06\x07c\rd")
    assert [row["value"] for row in read(tmp_path / "f", settings("text", VALUE))] == [
        "a",
        "b",
        "\x01\x02\x03\x04\x05\x06\x07c",
        "d",
    ]
