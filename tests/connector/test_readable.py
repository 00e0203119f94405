"""Errors as a person reads them: one line, the last of Python's part, and `hw.explain` finds it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import traceback
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pyarrow as pa
import pytest

import headwater as hw
from headwater.connector.readable import readable, readable_rows
from headwater.connector.spark.datasource import HeadwaterDataSource
from headwater.core.errors import OptionError, SourceError, meant
from tests.connector.slips.calls import CALLS
from tests.connector.slips.telling import answers
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLIPS = Path(__file__).parent / "slips"
GIVEN: dict[str, dict[str, Any]] = json.loads((SLIPS / "slips.json").read_text())


def plan(given: dict[str, Any]) -> None:
    source = HeadwaterDataSource({name.lower(): value for name, value in given["options"].items()})
    schema = source.schema()
    if given.get("stream"):
        source.streamReader(schema).initialOffset()
    else:
        source.reader(schema)


def slip(given: dict[str, Any]) -> str:
    """Do what Spark does in its planner with these options, and return what a person is told."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - which one it is, is in the text
        plan(given)
    lines = "".join(traceback.format_exception(raised.value))
    # Spark shows that text: our line is its last one.
    assert lines.splitlines()[-1].startswith("headwater: "), lines
    return hw.explain(raised.value)


def test_typical_slips_are_told_with_what_to_do() -> None:
    """Each answer was read by a person. Where one changes: python -m pytest ... shows the new text."""
    said = "".join(f"{name}\n    {slip(given)}\n" for name, given in GIVEN.items())
    assert said == (SLIPS / "answers.txt").read_text()


def test_slips_that_come_to_light_in_a_task_are_told_with_what_to_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In `tests/exactly_once/test_connect.py` there are those over Spark Connect."""
    assert answers(spark, SLIPS / "tasks.json", tmp_path) == (SLIPS / "tasks_answers.txt").read_text()


class Shelf:
    """Something that Spark calls."""

    @readable
    def options(self) -> None:
        self._deep(OptionError("must be 1", option="rows"))

    @readable
    def source(self) -> None:
        error = SourceError("no answer", source="shelf", split="a")
        error.add_note("raised by fetcher 0")
        self._deep(error)

    @readable
    def bug(self) -> None:
        self._deep(ZeroDivisionError("by zero"))

    def _deep(self, error: Exception) -> None:
        raise error


def shown(call: Any) -> list[str]:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each test looks at it
        call()
    return "".join(traceback.format_exception(raised.value)).splitlines()


def test_an_option_error_comes_without_the_frames_that_found_it() -> None:
    lines = shown(Shelf().options)
    assert lines[-1] == "headwater: option 'rows': must be 1"
    assert not any("_deep" in line for line in lines)


def test_an_error_that_an_option_asks_for_comes_without_them_too() -> None:
    def rows() -> Any:
        yield 1
        raise meant(SourceError("the file has columns that the schema does not have", source="files"))

    @readable
    def plan() -> None:
        list(rows())

    reading = readable_rows(rows())
    next(reading)
    for lines in (shown(lambda: next(reading)), shown(plan)):
        assert lines[-1] == "headwater: the file has columns that the schema does not have [source files]"
        assert not any("in rows" in line for line in lines)
        assert len(lines) < 20


def test_other_errors_keep_their_frames_and_end_with_one_line_notes_included() -> None:
    lines = shown(Shelf().source)
    assert lines[-1] == "headwater: no answer [source shelf, split a]; raised by fetcher 0"
    assert any("_deep" in line for line in lines)


EACH_KIND = [kind for kind in vars(hw.errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("kind", EACH_KIND, ids=lambda kind: kind.__name__)
def test_errors_of_each_kind_end_with_our_line(kind: type[Exception]) -> None:
    def fail() -> None:
        if kind is hw.errors.MissingDependencyError:
            raise hw.errors.MissingDependencyError("numba", needed_for="it", extra="kafka")
        raise kind("so it is")

    last = shown(readable(fail))[-1]
    assert last.startswith("headwater: ")
    assert (
        hw.explain(kind("so it is") if "Missing" not in kind.__name__ else RuntimeError(f"\n{last}")) in last
    )


def test_what_is_not_of_headwater_stays_as_it_is() -> None:
    assert shown(Shelf().bug)[-1] == "ZeroDivisionError: by zero"


def test_rows_come_as_they_are_and_the_error_behind_them_is_readable() -> None:
    def rows() -> Any:
        yield 1
        raise SourceError("two\nlines")

    reading = readable_rows(rows())
    assert next(reading) == 1
    assert shown(lambda: next(reading))[-1] == "headwater: two lines"


def test_an_error_that_passes_two_borders_is_marked_once() -> None:
    class Outer:
        @readable
        def call(self) -> None:
            Shelf().source()

    assert shown(Outer().call)[-1].count("headwater: ") == 1


def test_explain_finds_the_line_in_the_cause_and_leaves_other_errors_alone() -> None:
    outer = ValueError("somewhere")
    outer.__cause__ = RuntimeError(
        "Traceback\n  File x\nheadwater.core.errors.OptionError: \nheadwater: say it\n at org"
    )
    assert hw.explain(outer) == "say it"
    assert hw.explain(OptionError("must be 1", option="rows")) == "option 'rows': must be 1"
    assert hw.explain(KeyError("k")) == "KeyError: 'k'"
    assert hw.explain(RuntimeError()) == "RuntimeError"
    of_py4j = RuntimeError("An error occurred while calling o7.load.\n: org.NotFound: demo\n at org")
    assert hw.explain(of_py4j) == "RuntimeError: org.NotFound: demo"


def test_slips_in_calls_are_told_with_what_to_do() -> None:
    """Each answer was read by a person, as those of slips in options."""
    said = ""
    for name, call in CALLS.items():
        lines = shown(call)
        assert lines[-1].startswith("headwater: "), lines
        assert not any("raise OptionError" in line for line in lines), "no frames of ours"
        said += f"{name}\n    {lines[-1].removeprefix('headwater: ')}\n"
    assert said == (SLIPS / "calls_answers.txt").read_text()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("read.kafk", "module 'headwater.read' has no attribute 'kafk'; did you mean 'kafka'?"),
        ("unorderd_wait", "has no attribute 'unorderd_wait'; did you mean 'unordered_wait'?"),
        ("kafka", "has no attribute 'kafka': it is hw.read.kafka or hw.read_stream.kafka"),
        ("OptionError", "has no attribute 'OptionError': it is hw.errors.OptionError"),
    ],
)
def test_a_name_that_there_is_not_is_told_with_the_one_that_is_meant(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)):
        attrgetter(name)(hw)


HOOK = """
import headwater as hw
hw.install_excepthook()
raise {error}
"""


@pytest.mark.parametrize(
    ("error", "stderr"),
    [
        ("hw.errors.OptionError('must be 1', option='rows')", r"headwater: option 'rows': must be 1\n"),
        ("RuntimeError('x\\nheadwater: say it\\n at org')", r"headwater: say it\n"),
        ("KeyError('k')", r"Traceback [\s\S]*KeyError: 'k'\n"),
    ],
)
def test_the_hook_shows_our_line_alone(error: str, stderr: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOOK.format(error=error)],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert re.fullmatch(stderr, done.stderr)


class Broken(hw.SimpleSource):
    """Its author made a mistake."""

    name = "broken"
    schema = pa.schema((("number", pa.int64()),))

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("only")]

    def read(self, split: hw.NamedSplit, position: Any) -> Any:
        yield hw.Page([(self._number({}),)], 1)

    def _number(self, row: dict[str, int]) -> int:
        return row["number"]


def author_line() -> str:
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if 'row["number"]' in text
    )
    return f"Broken.read failed: KeyError: 'number', at {Path(__file__).name}:{line} in _number"


def test_through_spark_the_last_line_of_python_is_ours(spark: SparkSession, tmp_path: Path) -> None:
    hw.register(spark, Broken)
    demo = spark.read.format("headwater").option("source", "demo")
    with pytest.raises(Exception, match="SQLSTATE") as planned:
        demo.option("splits", "0").load()
    assert hw.explain(planned.value) == "option 'splits': must be a whole number of at least 1, not '0'"
    with pytest.raises(Exception, match="Broken") as read:
        spark.read.format("broken").load().collect()
    assert hw.explain(read.value).startswith(author_line())
    stream = spark.readStream.format("broken").option("stateLocation", str(tmp_path / "state")).load()
    query = (
        stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    )
    with pytest.raises(Exception, match="Broken") as streamed:
        query.awaitTermination(PATIENCE_S)
    assert hw.explain(streamed.value).startswith(author_line())


def test_a_notebook_shows_our_line_alone_and_other_errors_as_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """IPython asks no hook of Python: it has a handler of its own, whose form this is."""
    shell = Mock()
    monkeypatch.setitem(sys.modules, "IPython", Mock(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "last_value", None, raising=False)
    hw.install_excepthook()
    ((kinds, handler), _) = shell.set_custom_exc.call_args
    assert kinds == (Exception,)
    slip = OptionError("must be 1", option="rows")
    handler(shell, OptionError, slip, None, tb_offset=1)
    shell._showtraceback.assert_called_once_with(OptionError, slip, ["headwater: option 'rows': must be 1"])
    assert capsys.readouterr().err == "", "an error of the cell, and not a text beside it"
    assert sys.last_value is slip
    assert not shell.showtraceback.called
    other = KeyError("k")
    handler(shell, KeyError, other, None, tb_offset=1)
    shell.showtraceback.assert_called_once_with((KeyError, other, None), tb_offset=1)
