"""Batches that take as long as wanted: the rule, over queries that behave as queries do."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from headwater.connector.planned.batch_duration import FIRST_BATCH_BYTES, BatchDuration, BatchSize

TARGET_MS = 10_000
FIRST_ROWS = FIRST_BATCH_BYTES // 100


def run(
    cost_ms: Callable[[int], float],
    batches: int,
    *,
    overhead_ms: float = 300,
    backlog: Callable[[int], int] = lambda _: 1 << 60,
    trigger_ms: int = 0,
    noise: float = 0.0,
    file: int = 0,
    size: BatchSize | None = None,
) -> list[float]:
    """Run a query; return how long each batch worked.

    Args:
        cost_ms: of a row, by the number of the batch.
        batches: how many.
        overhead_ms: of a batch.
        backlog: how many rows are there at the most, by the number of the batch.
        trigger_ms: of the trigger whose wait hides the work; 0 if the work is known.
        noise: by how much a batch may be slower by chance.
        file: how many rows each split has, if splits are read whole; else 0.
        size: that of a query which goes on.
    """
    rng = random.Random(7)
    size = size or BatchSize(TARGET_MS)
    worked = []
    for number in range(batches):
        rows = min(backlog(number), size.rows if size.rows is not None else FIRST_ROWS)
        if file:
            rows = max(1, rows // file) * file
        work_ms = overhead_ms + rows * cost_ms(number) * (1 + noise * rng.random())
        worked.append(work_ms)
        is_exact = work_ms > trigger_ms
        size.learn(rows, BatchDuration(work_ms if is_exact else trigger_ms, is_exact), largest=file)
    return worked


def within(worked: list[float], part: float) -> bool:
    return all(abs(each - TARGET_MS) <= part * TARGET_MS for each in worked)


@pytest.mark.parametrize("cost_ms", [0.0005, 0.002, 0.02, 0.1, 1, 5])
def test_five_batches_after_the_start_batches_are_as_long_as_wanted(cost_ms: float) -> None:
    """Whatever a row costs: 2 M rows/s to 200."""
    worked = run(lambda _: cost_ms, 30)
    assert within(worked[5:], 0.2), worked
    assert within(worked[12:], 0.05), "no oscillation"


@pytest.mark.parametrize("factor", [4, 1 / 4])
def test_five_batches_after_a_step_they_are_again(factor: float) -> None:
    worked = run(lambda number: 0.01 if number < 10 else 0.01 * factor, 30)
    assert within(worked[15:], 0.2), worked
    assert within(worked[20:], 0.05)


def test_they_follow_a_ramp() -> None:
    worked = run(lambda number: 0.01 * 1.1**number, 60)
    assert within(worked[6:], 0.2), worked


def test_a_single_slow_batch_costs_a_few_smaller_ones() -> None:
    worked = run(lambda number: 0.03 if number == 15 else 0.01, 30)
    assert within(worked[20:], 0.1), worked
    assert min(worked[16:20]) > 0.3 * TARGET_MS


def test_a_time_of_small_batches_teaches_nothing_about_large_ones() -> None:
    """A burst comes after the query has been idle: the first large batch is as long as wanted."""
    worked = run(lambda _: 0.01, 60, backlog=lambda number: 100 if 10 <= number < 50 else 1 << 60)
    assert within(worked[50:], 0.2), worked


@pytest.mark.parametrize("part", [0.71, 0.85, 0.99])
def test_a_batch_that_was_nearly_full_and_in_time_makes_the_next_one_no_smaller(part: float) -> None:
    """A burst that is still coming in."""
    size = BatchSize(TARGET_MS)
    run(lambda _: 0.01, 20, size=size)
    assert size.rows is not None
    before = size.rows
    rows = round(before * part)
    size.learn(rows, BatchDuration(300 + rows * 0.01, is_exact=True))
    assert 0.97 * before < size.rows < 1.03 * before


def test_small_batches_that_take_too_long_make_batches_smaller() -> None:
    worked = run(
        lambda number: 0.01 if number < 10 else 10,
        30,
        backlog=lambda number: 20_000 if number >= 10 else 1 << 60,
    )
    assert within(worked[15:], 0.2), worked


def test_noise_of_a_third_does_not_swing_it() -> None:
    worked = run(lambda _: 0.01, 60, noise=0.33)
    assert within(worked[6:], 0.4), worked
    middle = sorted(worked[6:])[len(worked[6:]) // 2]
    assert abs(middle - TARGET_MS) < 0.15 * TARGET_MS


def test_the_first_batch_is_cautious_and_a_slow_one_halves_it_at_the_most() -> None:
    size = BatchSize(TARGET_MS)
    assert size.rows is None
    size.learn(80_000, BatchDuration(10 * TARGET_MS, is_exact=True))
    assert size.rows == 40_000, "the first batch starts processes"


@pytest.mark.parametrize("trigger_ms", [5_000, 10_000])
def test_where_the_wait_for_a_trigger_hides_the_work_it_is_probed(trigger_ms: int) -> None:
    worked = run(lambda _: 0.02, 60, trigger_ms=trigger_ms)
    assert within(worked[10:], 0.2), worked


@pytest.mark.parametrize(("trigger_ms", "batches"), [(8_300, 5), (10_000, 7)])
def test_a_sink_that_becomes_faster_is_followed_though_the_wait_hides_it(
    trigger_ms: int, batches: int
) -> None:
    worked = run(lambda number: 0.02 if number < 20 else 0.005, 60, trigger_ms=trigger_ms)
    assert within(worked[20 + batches :], 0.3), worked
    assert max(worked[20:]) <= 1.5 * TARGET_MS


def test_a_first_batch_that_is_slow_to_start_does_not_end_the_probing() -> None:
    size = BatchSize(TARGET_MS)
    size.learn(10_000, BatchDuration(3 * TARGET_MS, is_exact=True))
    assert size.rows == 5_000
    worked = run(lambda _: 0.1, 40, trigger_ms=5_000, size=size)
    assert within(worked[7:], 0.3), worked


def test_a_hidden_batch_that_was_nearly_full_leaves_a_size_that_was_seen_as_it_is() -> None:
    """The end of a backlog, whose batches took a little less than is wanted, and more than the interval."""
    size = BatchSize(TARGET_MS)
    size.learn(50_000, BatchDuration(9_500, is_exact=True))
    before = size.rows
    assert before is not None
    size.learn(round(0.76 * before), BatchDuration(9_000, is_exact=False))
    assert size.rows == before


def test_a_query_that_overran_once_goes_on_with_small_steps() -> None:
    size = BatchSize(TARGET_MS)
    run(lambda _: 0.02, 30, trigger_ms=TARGET_MS, size=size)
    assert size.rows is not None
    before = size.rows
    size.learn(before, BatchDuration(TARGET_MS, is_exact=False))
    assert size.rows == round(before * 1.1)


@pytest.mark.parametrize("file_s", [0.3, 1, 1.9])
def test_files_that_do_not_fill_a_batch_do_not_hold_its_size_back(file_s: float) -> None:
    """A batch has whole files: it is as near to what is wanted as one file more or less."""
    worked = run(lambda _: 1, 40, overhead_ms=0, file=round(file_s * 1_000))
    assert all(TARGET_MS - file_s * 1_000 <= each <= TARGET_MS for each in worked[8:]), worked


@pytest.mark.parametrize("file_s", [4, 9])
def test_large_files_are_taken_one_by_one_and_no_more_than_fit(file_s: float) -> None:
    worked = run(lambda _: 1, 40, overhead_ms=0, file=round(file_s * 1_000))
    fitting = TARGET_MS // (file_s * 1_000) * file_s * 1_000
    assert worked[8:] == [fitting] * 32


def test_after_a_slow_time_as_many_large_files_are_taken_as_before() -> None:
    worked = run(lambda number: 1.5 if 10 <= number < 20 else 1, 40, overhead_ms=0, file=4_000)
    assert worked[8:10] + worked[18:20] + worked[25:] == [8_000] * 2 + [6_000] * 2 + [8_000] * 15


def test_a_file_that_takes_longer_than_wanted_is_read_alone() -> None:
    worked = run(lambda _: 1, 12, overhead_ms=0, file=5 * TARGET_MS)
    assert worked == [5 * TARGET_MS] * 12


def test_files_are_probed_where_the_wait_for_a_trigger_hides_the_work() -> None:
    worked = run(lambda _: 1, 60, overhead_ms=0, file=4_000, trigger_ms=5_000)
    assert within(worked[10:], 0.25), worked
