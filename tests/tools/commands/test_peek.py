"""`headwater peek`: what a source has, without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.tools.commands.main import main
from local_kafka import LocalKafka
from tests.patience import PATIENCE_S

MAIN = "import sys; from headwater.tools.commands.main import main; sys.exit(main())"

SOURCE = """
import pyarrow as pa
import headwater as hw

class Numbers(hw.SimpleSource):
    name = "numbers"
    schema = pa.schema((("number", pa.int64()),))

    def discover(self):
        return [hw.NamedSplit("a"), hw.NamedSplit("b")]

    def read(self, split, position):
        if position < 3:
            yield hw.Page([(n,) for n in range(position, 3)], 3)
        return hw.Finished()
"""


def peek(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["peek", *arguments]) == 0
    return capsys.readouterr().out


def test_it_shows_schema_splits_first_rows_and_speed(capsys: pytest.CaptureFixture[str]) -> None:
    out = peek(capsys, "demo", "-o", "rows=5000", "-o", "splits=12", "--rows", "2")
    assert "schema:\n  order_id int64\n  ordered_at timestamp[us, tz=UTC]\n" in out
    assert "splits: 12\n  0: from " in out
    assert "  and 2 more\n" in out
    table = out.partition("first rows:\n")[2].splitlines()
    assert table[0].split() == ["order_id", "ordered_at", "customer", "product", "quantity", "amount"]
    assert len(table) == 5
    assert re.fullmatch(r"rows: 5,000 in [\d.]+ s, [\d,]+ rows/s; all there are", table[-1])


def test_it_ends_after_the_time_that_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    out = peek(capsys, "demo", "-o", "rows=50000000", "--seconds", "0.1")
    assert out.endswith("there are more\n")


def test_it_reads_a_class_of_the_user_from_where_the_user_is(tmp_path: Path) -> None:
    (tmp_path / "numbers_source.py").write_text(SOURCE)
    command = [sys.executable, "-c", MAIN, "peek", "numbers_source:Numbers"]
    out = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=PATIENCE_S
    ).stdout
    assert "splits: 2\n  a: from 0 to its end\n  b: from 0 to its end\n" in out
    assert "rows: 6 in " in out


def test_a_schema_that_is_inferred_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n{"a": 2, "b": "x"}\n')
    out = peek(capsys, "files", "-o", f"path={tmp_path}", "-o", "format=json")
    assert "schema:\n  a int64\n  b string\n" in out


@pytest.mark.slow
def test_ends_that_a_task_finds_have_their_names(
    kafka: LocalKafka, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic(topic, partitions=1)
    kafka.produce(topic, [b"x"] * 3)
    options = ("-o", f"subscribe={topic}", "-o", f"kafka.bootstrap.servers={kafka.bootstrap_servers}")
    assert f"{topic}-0: from earliest to latest\n" in peek(capsys, "kafka", *options)


def test_what_cannot_be_read_is_one_line_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peek", "demo", "-o", "row=5"]) == 1
    assert capsys.readouterr().err == (
        "headwater peek: option 'row': is not an option of this source; did you mean 'rows'?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "rows"), "must be KEY=VALUE"),
        (("--rows", "-1"), "must be a whole number"),
        (("--seconds", "soon"), "must be a number of seconds above 0"),
    ],
)
def test_slips_in_the_command_line_are_named(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["peek", "demo", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
