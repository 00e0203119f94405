"""Lines of text, as both readers cut them."""

from __future__ import annotations

from tests.parity.files.files_parity import FilesParity, reading


def test_lines_are_those_of_spark(parity: FilesParity) -> None:
    found = parity.same(
        reading("text"), [b"", b"\n", b"one\ntwo", b"one\r\ntwo\r\n", "gr\u00fc\u00df\n".encode()]
    )
    assert found[2] == [("one",), ("two",)]
