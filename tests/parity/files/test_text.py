"""Lines of text, as both readers cut them."""

from __future__ import annotations

import pytest

from tests.parity.files.files_parity import FilesParity, reading

FILES = [b"", b"\n", b"one\ntwo", b"one\r\ntwo\r\n", "gr\u00fc\u00df\n".encode()]


@pytest.mark.parametrize("streaming", [False, True])
def test_lines_are_those_of_spark(parity: FilesParity, streaming: bool) -> None:
    found = parity.same(reading("text", "value string"), FILES, streaming=streaming)
    assert found[2] == [("one",), ("two",)]
