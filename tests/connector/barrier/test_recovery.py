"""Epochs after a crash: restored, thrown away, rolled back, pruned.

And what cannot be restored is an error.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from headwater.core.epoch import Barrier
from headwater.core.errors import ContractError, OffsetError, StateLocationError
from headwater.core.jsons import JsonObject
from headwater.core.state_location import LocalStateStore
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.state_parts import epoch_of
from tests.connector.barrier.epoch_queries import Query
from tests.doubles import NumberSplit
from tests.epoch_doubles import Logs, open_plain_reader


def test_a_restart_between_any_two_steps_comes_to_the_same() -> None:
    query = Query(Logs({"a": 13, "b": 4}))
    query.coordinator.prepare_for_available_now()
    while query.plan() is not None:
        query.restart()
        query.coordinator.prepare_for_available_now()
        read = [row for task in query.tasks() for row in query.read(task)]
        assert read == [row for task in query.tasks() for row in query.read(task)]
        query.rows += read
        if not read:
            break
    assert sorted(query.rows) == query.outside.everything()


def test_an_epoch_that_was_opened_and_never_logged_is_thrown_away_and_its_new_splits_given_back() -> None:
    query = Query(Logs({"a": 8}))
    query.plan()
    lost = query.log.pop()
    query.plan()
    assert query.outside.returned == [NumberSplit("a")]
    assert query.log[-1]["nonce"] != lost["nonce"]
    names = query.store.list(str(query.log[-1]["query"]))
    assert [str(lost["nonce"]) in name for name in names] == [False] or str(lost["query"]) != str(
        query.log[-1]["query"]
    )


def test_a_checkpoint_rolled_back_goes_on_from_there_in_folders_of_its_own() -> None:
    query = Query(Logs({"a": 21}))
    for _ in range(5):
        query.batch()
    kept = query.log[:2]
    rows: list[tuple[str, int]] = []
    before = query.log
    query.log = kept
    query.restart()
    for log in (kept[:1], kept):
        query.log = log
        rows += [row for task in query.tasks() for row in query.read(task)]
    query.rows = rows
    query.log = list(kept)
    query.drain()
    assert sorted(query.rows) == query.outside.everything()
    assert {str(offset["nonce"]) for offset in query.log[2:]}.isdisjoint(
        str(offset["nonce"]) for offset in before[2:]
    )


def test_old_epochs_are_pruned_and_the_retained_ones_can_be_rolled_back_to() -> None:
    query = Query(Logs({"a": 40}), retained_epochs=2)
    for _ in range(6):
        query.batch()
    query.plan()
    folder = str(query.log[0]["query"])
    numbers = [int(name.split("-")[1]) for name in query.store.list(folder) if name.startswith("epoch-")]
    assert numbers == [4, 5, 6, 7]
    # Of the segments of found splits, those that were written since or that the oldest epoch names.
    opened = json.loads(query.store._objects[f"{folder}/epoch-0000000004-{query.log[3]['nonce']}/opened"])
    kept = query.store.list(f"{folder}/found")
    assert [name for name in kept if epoch_of(name) < 4] == opened["segments"]


def test_what_is_staged_is_released_when_no_kept_epoch_of_any_timeline_begins_before_it() -> None:
    query = Query(Logs({"a": 60}), retained_epochs=2)
    for _ in range(4):
        query.batch()
    assert query.outside.released == []
    query.batch()
    assert query.outside.released == [{("a",): _start(query.log[1])}]
    # A checkpoint was rolled back: the oldest number that is kept is that of two epochs.
    opened = {"places": 1, "starts": {"a": 1}, "segments": []}
    query.store.put(f"{query.log[0]['query']}/epoch-0000000003-zz/opened", json.dumps(opened).encode())
    query.batch()
    assert query.outside.released[1:] == [{("a",): 1}]
    query.batch()
    assert query.outside.released[2:] == [{("a",): _start(query.log[3])}]


def _start(offset: Any) -> int:
    return int(offset["starts"]["a"])


def test_what_is_staged_of_a_split_that_is_gone_is_thrown_away_once_no_kept_epoch_has_it() -> None:
    query = Query(Logs({"a": 40}), retained_epochs=2, barrier=Barrier(rows=2), parallelism=1)
    begun: list[set[str]] = []
    while query.batch() is not None:
        begun.append(set(cast("dict[str, int]", query.log[-1]["starts"])))
        # The epochs that are kept: the last complete one, two before it, and the one that was just read.
        assert not set().union(*begun[-4:]) & {path[0] for path in query.outside.forgotten}
    children = {label for starts in begun for label in starts if "/" in label}
    assert {path[0] for path in query.outside.forgotten} == children - set().union(*begun[-3:])
    assert len(children) > len(set().union(*begun[-3:]) & children)


def test_a_pruned_or_lost_epoch_is_an_error_and_nothing_is_read_twice() -> None:
    query = Query(Logs({"a": 40}))
    query.batch()
    query.store.delete_folder(str(query.log[0]["query"]))
    query.restart()
    with pytest.raises(
        StateLocationError, match=r"does not hold epoch 1 .* Restore stateLocation from the backup"
    ):
        query.plan()
    assert query.store._objects == {}


def test_a_manifest_that_was_cut_short_is_an_error_and_nothing_is_written_over_it() -> None:
    query = Query(Logs({"a": 40}))
    query.batch()
    name = next(name for name in query.store._objects if name.endswith(".manifest"))
    query.store._objects[name] = query.store._objects[name][:-7]
    held = dict(query.store._objects)
    with pytest.raises(StateLocationError, match=r"task 0 .* is cut short or was changed"):
        query.plan()
    with pytest.raises(StateLocationError, match="is cut short or was changed"):
        query.read(query.tasks()[0])
    assert query.store._objects == held


def test_an_executor_that_cannot_write_the_location_says_so(tmp_path: Path) -> None:
    query = Query(Logs({"a": 4}))
    query.plan()
    (tmp_path / "state").touch()
    with pytest.raises(
        StateLocationError, match=r"cannot be used from here.*driver and every executor must reach it"
    ):
        list(
            read_epoch(
                query.source,
                query.tasks()[0],
                LocalStateStore(tmp_path / "state"),
                open_plain_reader,
                query.clock,
            )
        )


def test_a_source_that_goes_backwards_is_an_error_and_nothing_is_opened() -> None:
    query = Query(Logs({"a": 40}))
    query.batch()
    query.outside.backwards = True
    query.batch()
    held = dict(query.store._objects)
    with pytest.raises(
        ContractError, match=re.escape("went backwards: split a was to be read from 4 and came to")
    ):
        query.plan()
    assert query.store._objects == held


def test_a_checkpoint_of_another_source_or_mode_is_refused() -> None:
    query = Query(Logs({"a": 4}))
    refused: list[JsonObject] = [
        {"source": "kafka", "version": 1},
        {"source": "logs", "version": 1, "positions": {"a": 4}},
        {"source": "logs", "version": 9},
    ]
    for wrong in refused:
        with pytest.raises(OffsetError):
            query.coordinator.plan_next(wrong, limited=True)
