"""One task without Spark: batches in, batches out."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from headwater.connector.async_io.results import ResultFormat
from headwater.connector.async_io.task import AsyncWait
from headwater.core.errors import AsyncCallError, ContractError
from headwater.readers.async_io.function import AsyncArrowFunction
from headwater.readers.async_io.settings import AsyncSettings, Batching, OnFailure, OutputMode
from headwater.readers.async_io.wait_policy import WaitPolicy
from tests.connector.async_io.functions import NoServer, wrong_type
from tests.patience import PATIENCE_S


async def twice(row: Any) -> Any:
    await asyncio.sleep(0.001 * (row.id % 3))
    return None if row.id % 10 == 0 else [(row.id, 1), (row.id, 2)] if row.id % 10 == 1 else (row.id, 1)


async def never_if_zero(row: Any) -> tuple[int, int]:
    if row.id == 0:
        await asyncio.Event().wait()
    return row.id, 0


class Briefly(WaitPolicy):
    def seconds(self) -> float:
        return 0.2


def wait_of(
    function: Any, schema: dict[str, pa.DataType] | None = None, *, keep_input: bool = True, **settings: Any
) -> AsyncWait:
    on_failure: OnFailure = settings.get("on_failure", OnFailure.FAIL)
    return AsyncWait(
        function=function,
        settings=AsyncSettings(**settings),
        share_id=str(uuid.uuid4()),
        columns=["id"],
        key_columns=["id"],
        kept_columns=["id", "text"] if keep_input else [],
        results=ResultFormat(
            schema=pa.schema(schema or {"number": pa.int64(), "which": pa.int32()}),
            error_column="error" if on_failure is OnFailure.ERROR_COLUMN else None,
            on_failure=on_failure,
        ),
        metrics=None,
    )


def batches(*starts: int, size: int = 100) -> Iterator[pa.RecordBatch]:
    for start in starts:
        numbers = list(range(start, start + size))
        yield pa.RecordBatch.from_pydict({"id": numbers, "text": [f"t{n}" for n in numbers]})


@pytest.mark.parametrize("keep_input", [True, False])
def test_each_result_stands_beside_its_input(keep_input: bool) -> None:
    out = pa.Table.from_batches(wait_of(twice, keep_input=keep_input).run(batches(0, 100, 200))).to_pylist()
    expected = [(n, which) for n in range(300) if n % 10 for which in ((1, 2) if n % 10 == 1 else (1,))]
    assert sorted((row["number"], row["which"]) for row in out) == expected
    if keep_input:
        assert all(row["id"] == row["number"] and row["text"] == f"t{row['id']}" for row in out)
    assert list(out[0]) == (["id", "text"] if keep_input else []) + ["number", "which"]


def test_a_task_says_in_one_line_what_it_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "headwater.connector.async_io.task"):
        list(wait_of(twice).run(batches(0)))
    [line] = [
        record.message for record in caplog.records if record.name == "headwater.connector.async_io.task"
    ]
    assert line.startswith("twice")
    assert "requests 100, in_flight 0" in line


def test_ordered() -> None:
    out = pa.Table.from_batches(wait_of(twice, mode=OutputMode.ORDERED).run(batches(0, 100)))
    assert list(dict.fromkeys(out["id"].to_pylist())) == [n for n in range(200) if n % 10]


def test_a_slow_call_does_not_hold_back_rows_that_are_done() -> None:
    running = wait_of(never_if_zero, timeout_ms=None).run(batches(0))
    out = 0
    while out < 99:
        out += next(running).num_rows
    running.close()  # type: ignore[attr-defined]


def test_no_input_no_output() -> None:
    assert list(wait_of(twice).run([])) == []
    assert list(wait_of(twice).run(batches(0, size=0))) == []


def test_what_is_wrong_names_function_and_row() -> None:
    with pytest.raises(
        ContractError, match=r"wrong_type returned for id=7 '.*' \(str\) as 'number', which is int64: return"
    ):
        list(wait_of(wrong_type, {"number": pa.int64()}).run(batches(0)))
    with pytest.raises(AsyncCallError, match=r"never_if_zero failed for id=0, attempt 1: CallTimeoutError"):
        list(wait_of(never_if_zero, timeout_ms=50).run(batches(0)))
    with pytest.raises(AsyncCallError, match=r"NoServer.open raised ConnectionError: refused"):
        list(wait_of(NoServer()).run(batches(0)))


def test_unfinished_rows_are_handed_over_and_asked_again() -> None:
    wait = wait_of(never_if_zero, timeout_ms=None)
    with wait.opened() as task:
        done = [row["id"] for batch in task.process(batches(0), Briefly()) for row in batch.to_pylist()]
        [left] = task.unfinished()
    # On a busy machine more than the one may be left.
    assert left.to_pylist()[0] == {"id": 0, "text": "t0"}
    assert sorted(done + left["id"].to_pylist()) == list(range(100))
    with wait_of(twice).opened() as task:
        task.restore(pa.RecordBatch.from_pydict({"id": [5], "text": ["t5"]}))
        assert [batch["text"].to_pylist() for batch in task.process([])] == [["t5"]]
        assert not task.unfinished()


def test_output_is_cut_by_bytes_also_where_a_row_has_many_results() -> None:
    async def function_of_many(row: Any) -> list[tuple[int, int]]:
        return [(row.id, which) for which in range(200)]

    text = "x" * 100_000
    rows = pa.RecordBatch.from_pydict({"id": list(range(20)), "text": [text] * 20})
    sizes = [batch.nbytes for batch in wait_of(function_of_many).run([rows])]
    assert max(sizes) <= 8 << 20
    assert sum(sizes) >= 20 * 200 * 100_000


@pytest.mark.parametrize("in_bulk", [False, True])
def test_what_a_task_holds_is_bounded_in_bytes(in_bulk: bool) -> None:
    held: list[int] = []
    running = 0

    async def counts(row: Any) -> tuple[int, int]:
        nonlocal running
        running += 1
        held.append(running)
        await asyncio.sleep(0.001)
        running -= 1
        return row.id, 0

    class CountsInBulk(AsyncArrowFunction):
        async def async_invoke_arrow(self, rows: pa.RecordBatch) -> Any:
            nonlocal running
            running += rows.num_rows
            held.append(running)
            await asyncio.sleep(0.001)
            running -= rows.num_rows
            return pa.table({"number": rows["id"], "which": rows["id"]})

    wait = wait_of(CountsInBulk() if in_bulk else counts, batching=Batching(size=3) if in_bulk else None)
    text = "x" * 100_000
    rows = pa.RecordBatch.from_pydict({"id": list(range(200)), "text": [text] * 200})
    out = list(replace(wait, queue_bytes=1_000_000).run([rows]))
    assert sum(batch.num_rows for batch in out) == 200
    assert max(held) <= 20, "2 MB: the bound, and a piece of 1 MB that was admitted below it"


def test_large_results_are_cut_too() -> None:
    async def large(row: Any) -> tuple[str]:
        return ("x" * 1_000_000,)

    sizes = [batch.nbytes for batch in wait_of(large, {"answer": pa.string()}).run(batches(0, size=40))]
    assert max(sizes) <= 8 << 20
    assert sum(sizes) >= 40_000_000


def test_failures_and_results_are_heard_while_no_input_comes() -> None:
    more = threading.Event()

    def slow_input() -> Iterator[pa.RecordBatch]:
        yield next(batches(1, size=3))
        more.wait(PATIENCE_S)
        yield next(batches(0, size=1))
        threading.Event().wait(PATIENCE_S)

    async def fails_if_zero(row: Any) -> tuple[int, int]:
        if row.id == 0:
            raise ValueError
        return row.id, 0

    out = wait_of(fails_if_zero).run(slow_input())
    seen = 0
    while seen < 3:
        seen += next(out).num_rows
    more.set()
    with pytest.raises(AsyncCallError, match="ValueError"):
        next(out)
