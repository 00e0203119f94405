"""ORC that ends the process that decodes it, and processes that others end: never this one."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from headwater.core.errors import CorruptRecordError, TransientSourceError
from headwater.readers.compression import LargeBlockError
from headwater.readers.files import decoder_process as module
from headwater.readers.files import split_reader
from headwater.readers.files.decoder_process import NUMBER, DecoderMessage, DecoderProcess, decoder_process
from tests.patience import PATIENCE_S
from tests.readers.files.reading import infer, read, settings

CRASHING = Path(__file__).parent / "crashing"
"""Mutated files by which pyarrow 26 ends its process: in a stripe with SIGSEGV, in a schema with SIGABRT."""
NUMBERS = pa.schema([pa.field("a", pa.int64())])


@pytest.fixture(autouse=True)
def own_processes() -> Iterator[None]:
    """Begin without a process that another test has left, and leave none."""
    module._close_idle()
    yield
    module._close_idle()


def content() -> bytes:
    out = io.BytesIO()
    orc.write_table(pa.table({"a": range(9)}, NUMBERS), out)
    return out.getvalue()


@pytest.mark.parametrize(("name", "part"), [("in_a_stripe", "stripe 1 of 1"), ("in_the_schema", "its end")])
def test_a_file_that_ends_its_decoder_is_named_with_part_and_byte_and_can_be_skipped(
    name: str, part: str
) -> None:
    path = CRASHING / f"{name}.orc"
    schema = NUMBERS if part == "its end" else infer(path, settings("orc", NUMBERS))
    with pytest.raises(CorruptRecordError, match=part) as found:
        read(path, settings("orc", schema))
    assert found.value.split == f"file://{path}"
    assert isinstance(found.value.position, int)
    assert read(path, settings("orc", schema, ignore_corrupt=True)) == []


def test_a_file_that_ends_its_decoder_while_a_schema_is_inferred_does_not_end_the_driver() -> None:
    with pytest.raises(CorruptRecordError, match="SIGABRT"):
        infer(CRASHING / "in_the_schema.orc", settings("orc", pa.schema([])))


def test_names_that_are_no_text_are_damage_at_every_level(tmp_path: Path) -> None:
    for columns in ({"abcd": [1]}, {"s": [{"abcd": 1}]}, {"l": [[{"abcd": 1}]]}):
        out = io.BytesIO()
        orc.write_table(pa.table(columns), out, compression="UNCOMPRESSED")
        path = tmp_path / "f"
        path.write_bytes(out.getvalue().replace(b"abcd", b"\xc5\xff\xb6\xfe"))
        with pytest.raises(CorruptRecordError, match="its end"):
            infer(path, settings("orc", NUMBERS))


class Ending(io.BytesIO):
    """A file that ends the process that reads it, with the second time that bytes are asked for."""

    def __init__(self, process: DecoderProcess, by: int) -> None:
        super().__init__(content())
        self.process = process
        self.by = by
        self.reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        if self.reads == 2:
            os.kill(self.process._process.pid, self.by)
            self.process._process.wait()
        return super().read(size)


def test_a_decoder_that_is_killed_from_outside_is_no_damage_and_nothing_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(content())
    with decoder_process() as process:
        pass  # the next one that is lent
    monkeypatch.setattr(split_reader, "opened", lambda *_: Ending(process, signal.SIGKILL))
    with pytest.raises(TransientSourceError, match="SIGKILL") as found:
        read(path, settings("orc", NUMBERS, ignore_corrupt=True))
    assert found.value.split == f"file://{path}"


class Waiting(io.BytesIO):
    """A file that waits, with each read, until the process that reads it has ended."""

    def __init__(self, process: DecoderProcess) -> None:
        super().__init__(content())
        self.process = process

    def read(self, size: int | None = -1) -> bytes:
        self.process._process.wait(PATIENCE_S)
        return super().read(size)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process")
def test_a_stripe_that_is_too_large_is_told_as_such_also_if_its_process_ends_as_it_asks_for_bytes() -> None:
    with decoder_process() as process:
        process.ask(DecoderMessage.OPEN, NUMBER.pack(len(content())))
        assert len(list(process.answers(io.BytesIO(content())))) == 1
        process.ask(DecoderMessage.STRIPE, json.dumps([0, ["a"], -(1 << 50)]).encode())
        with pytest.raises(LargeBlockError):
            list(process.answers(Waiting(process)))


def test_a_process_is_kept_for_the_next_file_and_another_is_started_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(content())
    how = settings("orc", NUMBERS)
    assert len(read(path, how)) == 9
    with decoder_process() as first:
        pass
    assert len(read(path, how)) == 9
    with decoder_process() as second:
        assert second is first
    with pytest.raises(CorruptRecordError):
        infer(CRASHING / "in_the_schema.orc", how)
    with decoder_process() as third:
        assert third is not first
    assert not first._zones.exists()


def test_one_whose_answer_was_not_taken_is_not_lent_again() -> None:
    with decoder_process() as process:
        process.ask(DecoderMessage.OPEN, NUMBER.pack(len(content())))
    assert process._process.returncode is not None
    assert module._idle == []


def test_a_process_ends_and_removes_its_folder_when_its_reader_is_gone() -> None:
    process = DecoderProcess()
    process._questions.close()
    assert process._process.wait(timeout=PATIENCE_S) == 0
    assert not process._zones.exists()
    process._answers.close()


@pytest.mark.parametrize("name", ["", "../etc/passwd", "/etc/passwd", "a//b", "x" * 200, "a b"])
def test_what_is_no_name_of_a_zone_makes_no_file(name: str) -> None:
    with decoder_process() as process, pytest.raises(ValueError, match="no time zone"):
        process.know_zone(name)
