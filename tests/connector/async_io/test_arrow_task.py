"""A task whose function takes whole Arrow batches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headwater.connector.async_io.arrow_task import Gathering
from headwater.core.errors import AsyncCallError, CallTimeoutError, ContractError, OptionError
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncArrowFunction
from headwater.readers.async_io.settings import (
    AsyncSettings,
    Batching,
    CacheSettings,
    OnFailure,
    OutputMode,
    RetryPolicy,
)
from headwater.readers.async_io.stream_element_queue import Watermark
from tests.connector.async_io.test_task import Briefly, batches, wait_of

SCHEMA: dict[str, pa.DataType] = {"doubled": pa.int64()}


class Doubles(AsyncArrowFunction):
    """Answers with twice the id."""

    def __init__(self, frames: Literal["arrow", "pandas", "polars"] = "arrow") -> None:
        self.frames = frames  # type: ignore[misc]
        self.sizes: list[int] = []

    async def async_invoke_arrow(self, rows: Any) -> Any:
        self.sizes.append(len(rows))
        await asyncio.sleep(0)
        if self.frames == "pandas":
            return (rows[["id"]] * 2).rename(columns={"id": "doubled"})
        if self.frames == "polars":
            return rows.select((rows["id"] * 2).alias("doubled"))
        return pa.table({"doubled": pc.multiply(rows.column("id"), pa.scalar(2))})


def out_of(function: Any, given: Iterator[pa.RecordBatch], **settings: Any) -> pa.Table:
    return pa.Table.from_batches(wait_of(function, SCHEMA, **settings).run(given))


@pytest.mark.parametrize("frames", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("mode", [OutputMode.ORDERED, OutputMode.UNORDERED])
def test_each_row_has_its_result(frames: Literal["arrow", "pandas", "polars"], mode: OutputMode) -> None:
    out = out_of(Doubles(frames), batches(0, 1000, size=700), mode=mode, batching=Batching(size=300))
    rows = sorted((row["id"], row["text"], row["doubled"]) for row in out.to_pylist())
    assert rows == [(n, f"t{n}", 2 * n) for n in [*range(700), *range(1000, 1700)]]
    if mode is OutputMode.ORDERED:
        assert out["id"].to_numpy().tolist() == [*range(700), *range(1000, 1700)]


def test_calls_are_as_large_as_it_is_said_in_rows_and_bytes() -> None:
    function = Doubles()
    out_of(function, batches(0, 100, 200, size=100), batching=Batching(size=150, linger_ms=60_000))
    assert sum(function.sizes) == 300
    assert max(function.sizes) <= 150
    [large] = batches(0, size=1000)
    gathering = Gathering(Batching(size=10_000, most_bytes=4000))
    pieces = [piece for piece in gathering.gathered([large]) if isinstance(piece, pa.RecordBatch)]
    assert max(piece.nbytes for piece in pieces) <= 4000
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([large]))


def test_rows_wait_for_more_rows_no_longer_than_the_linger() -> None:
    times = iter([0.0, 0.01, 0.02, 0.05])
    [few] = batches(0, size=3)
    gathering = Gathering(Batching(size=10, linger_ms=30), lambda: next(times))
    given = gathering.gathered([few, None, None, None])
    sizes = [batch.num_rows if isinstance(batch, pa.RecordBatch) else batch for batch in given]
    assert sizes == [None, 3, None, None]


def test_a_watermark_sends_off_what_was_gathered() -> None:
    [first, second] = batches(0, 3, size=3)
    gathering = Gathering(Batching(size=10, linger_ms=60_000))
    border = Watermark(7)
    given = list(gathering.gathered([first, border, second]))
    assert given == [first, border, second]


class Fails(AsyncArrowFunction):
    """Fails for the batch with row 0, as it is told."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.calls = 0

    async def async_invoke_arrow(self, rows: Any) -> Any:
        self.calls += 1
        if rows.column("id")[0].as_py() == 0:
            if self.how == "raises":
                raise ValueError("bad")
            if self.how == "hangs":
                await asyncio.Event().wait()
            wrong: dict[str, Any] = {
                "too few rows": pa.table({"doubled": [1]}),
                "other columns": pa.table({"other": rows.column("id")}),
                "other values": pa.table({"doubled": ["x"] * rows.num_rows}),
                "no frame": [1, 2],
                "nothing": None,
            }
            return wrong[self.how]
        return pa.table({"doubled": rows.column("id")})


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("raises", AsyncCallError, "ValueError: bad"),
        ("hangs", CallTimeoutError, "no result within"),
        ("nothing", ContractError, "Fails returned a NoneType; it must return a RecordBatch"),
        ("too few rows", ContractError, "Fails returned 1 rows for 10"),
        ("other columns", ContractError, "Fails returned the columns 'other'; its schema is doubled int64"),
        ("other values", ContractError, "as 'doubled', which is int64: return an int"),
        ("no frame", ContractError, "Fails returned a list; it must return a RecordBatch"),
    ],
)
def test_a_call_that_fails_goes_where_on_failure_says(how: str, error: type[Exception], message: str) -> None:
    settings: dict[str, Any] = {"batching": Batching(size=10), "timeout_ms": 200}
    with pytest.raises(error, match=message):
        out_of(Fails(how), batches(0, size=20), **settings)
    dropped = out_of(Fails(how), batches(0, size=20), on_failure=OnFailure.DROP, **settings)
    assert dropped["id"].to_numpy().tolist() == list(range(10, 20))
    kept = out_of(Fails(how), batches(0, size=20), on_failure=OnFailure.ERROR_COLUMN, **settings).to_pylist()
    failed = [row for row in kept if row["error"] is not None]
    assert [row["id"] for row in failed] == list(range(10))
    assert all(
        message.rsplit(": ", maxsplit=1)[-1] in row["error"]["message"] and row["doubled"] is None
        for row in failed
    )
    assert len(kept) == 20


def test_a_call_is_asked_again_as_a_whole() -> None:
    function = Fails("raises")
    with pytest.raises(AsyncCallError, match="attempt 3"):
        out_of(function, batches(0, size=5), retry=RetryPolicy.fixed(3, 1))
    assert function.calls == 3


class SeesColumns(Doubles):
    """Notes which columns it gets."""

    seen: set[str]

    async def async_invoke_arrow(self, rows: Any) -> Any:
        self.seen = set(rows.schema.names)
        return await super().async_invoke_arrow(rows)


def test_the_function_gets_the_columns_that_it_is_to_get_and_the_output_the_others_too() -> None:
    function = SeesColumns()
    assert out_of(function, batches(0)).column_names == ["id", "text", "doubled"]
    assert function.seen == {"id"}


def test_frames_of_no_known_kind_are_refused() -> None:
    unknown: Any = "panda"
    with pytest.raises(OptionError, match="'function': must have frames of arrow, pandas, polars, and has"):
        AsyncWaitOperator(Doubles(unknown))


def test_restored_rows_are_asked_in_calls_of_the_usual_size() -> None:
    function = Doubles()
    [left] = batches(0, size=25)
    with wait_of(function, SCHEMA, batching=Batching(size=10)).opened() as task:
        task.restore(left)
        out = pa.Table.from_batches(task.process([]))
    assert function.sizes == [10, 10, 5]
    assert sorted(out["doubled"].to_numpy().tolist()) == list(range(0, 50, 2))


def test_there_are_no_caches_and_no_keys() -> None:
    with pytest.raises(OptionError, match="'function': AsyncArrowFunction has no cache"):
        AsyncWaitOperator(Doubles(), AsyncSettings(cache=CacheSettings()))


def test_unfinished_batches_are_handed_over_and_asked_again() -> None:
    hangs = wait_of(Fails("hangs"), SCHEMA, timeout_ms=None, batching=Batching(size=10))
    with hangs.opened() as task:
        done = list(task.process(batches(0, size=20), Briefly()))
        [left] = task.unfinished()
    assert [batch["id"].to_numpy().tolist() for batch in done] == [list(range(10, 20))]
    assert left["id"].to_numpy().tolist() == list(range(10))
    with wait_of(Doubles(), SCHEMA).opened() as task:
        task.restore(left)
        [again] = task.process([])
        assert again["doubled"].to_numpy().tolist() == list(range(0, 20, 2))
        assert not task.unfinished()
