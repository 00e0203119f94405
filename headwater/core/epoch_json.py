"""The state of a task at its barrier as JSON, as it lies in manifests; earlier versions are read as well."""

from __future__ import annotations

import base64
from typing import Any, cast

from headwater.core.epoch import (
    EpochState,
    Failing,
    FoundSplit,
    InFlight,
    SplitProgress,
    SplitStatus,
    StoredRows,
    WaitingSplits,
    reading_json,
)
from headwater.core.errors import ContractError, OffsetError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.source import Source
from headwater.core.split import Split, SplitPath

MOST_STATE_BYTES = 256 << 20
"""The largest state that is written.

Rows in flight are bounded by the task's buffers, so more than this is a mistake.
"""

_VERSION = 3
"""Version 1 held found splits and rows in flight itself, version 2 requests of asynchronous calls as JSON.
Both are read as well, but for such requests."""


def state_to_json(state: EpochState, source: Source[Any, Any, Any]) -> JsonObject:
    """Return the state as JSON, its splits through the source's own serializer.

    Raises:
        ContractError: it is larger than `MOST_STATE_BYTES`, or parts that belong into objects of their own
            are still in it.
    """
    if state.found or any(entry.rows for entry in state.in_flight):
        raise ContractError("a state is written without its found splits and rows, which are put aside")
    whole: JsonObject = {
        "version": _VERSION,
        "splits": source.serialize_splits([entry.split for entry in state.progress]),
        "progress": [
            [list(p.split.path), p.position, p.status.value, p.not_before_ms, _failing_to_json(p.failing)]
            for p in state.progress
        ],
        "in_flight": [
            {
                "path": list(entry.path),
                "start": entry.start,
                "rows": [entry.stored.name, entry.stored.first, entry.stored.stop] if entry.stored else None,
            }
            for entry in state.in_flight
        ],
        "events": list(state.events),
        "taken": state.taken,
        "waiting": [waiting_to_json(segment) for segment in state.waiting],
        "unserved": state.unserved,
    }
    stored = (entry.stored for entry in state.in_flight if entry.stored is not None)
    size_bytes = len(dumps(whole)) + sum(rows.stop - rows.first for rows in stored)
    if size_bytes > MOST_STATE_BYTES:
        raise ContractError(
            f"the state of one task of source {source.name} has {size_bytes} bytes: "
            "smaller splits, events or epochs are needed"
        )
    return whole


def state_from_json(source: Source[Any, Any, Any], value: JsonValue) -> EpochState:
    """Return the state that `state_to_json` wrote.

    Raises:
        OffsetError: it is something else, is cut short, or was written by a later version.
    """
    with reading_json("the state of an epoch"):
        whole = cast("dict[str, Any]", value)
        version = whole["version"]
        if version not in range(1, _VERSION + 1):
            raise OffsetError(
                f"the state of an epoch has version {version}, and this headwater reads up to "
                f"{_VERSION}: install a later one"
            )

        def path_of(names: list[str]) -> SplitPath:
            # Rows with calls belong to no split.
            return source.path_of(tuple(names)) if names else ()

        logged_found = whole["found"] if version == 1 else []
        paths = [path_of(entry[0]) for entry in [*whole["progress"], *logged_found]]
        splits = source.deserialize_splits(paths, whole["splits"])
        return EpochState(
            tuple(_progress(splits[path_of(entry[0])], *entry[1:]) for entry in whole["progress"]),
            tuple(FoundSplit(splits[path_of(names)], start) for names, start in logged_found),
            tuple(_in_flight(path_of(entry["path"]), entry) for entry in whole["in_flight"]),
            tuple(whole["events"]),
            whole["taken"] if version > 1 else 0,
            tuple(waiting_from_json(piece) for piece in (whole["waiting"] if version > 1 else ())),
            # Manifests that were written before there were turns do not say it.
            whole.get("unserved", 0),
        )


def waiting_to_json(segment: WaitingSplits) -> JsonValue:
    """Return how manifests and offsets name splits that wait."""
    return [segment.segment, segment.first, segment.stop]


def waiting_from_json(value: Any) -> WaitingSplits:
    """Return the splits that `waiting_to_json` wrote."""
    segment, first, stop = value
    return WaitingSplits(segment, first, stop)


def _progress(
    split: Split, position: JsonValue, status: str, not_before_ms: int | None, failing: Any = None
) -> SplitProgress:
    trouble = None if failing is None else Failing(*failing)
    return SplitProgress(split, position, SplitStatus(status), not_before_ms, trouble)


def _failing_to_json(failing: Failing | None) -> JsonValue:
    return None if failing is None else [failing.failures, failing.lasting_ms, failing.reason]


def _in_flight(path: SplitPath, entry: dict[str, Any]) -> InFlight:
    rows = entry["rows"]
    if entry.get("requests"):  # up to version 2
        raise OffsetError(
            "the state of an epoch holds requests of asynchronous calls in the form of an earlier headwater: "
            "go back to the version that wrote it, let the query end with barrierMode=aligned, and come back"
        )
    if isinstance(rows, str):  # version 1
        return InFlight(path, entry["start"], base64.b64decode(rows, validate=True))
    return InFlight(path, entry["start"], stored=None if rows is None else StoredRows(*rows))
