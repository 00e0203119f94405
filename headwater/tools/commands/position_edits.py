"""An offset with other positions, in the form of the source that logged it: headwater's or Spark's Kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headwater.core.jsons import JsonValue
from headwater.tools.commands.logged_positions import logged_positions
from headwater.tools.commands.offset_log import VOID
from headwater.tools.commands.spark_checkpoint import CheckpointError

_FILES = "files"


def require_positions(name: str, logged: str) -> None:
    """Refuse a source that cannot go on from positions that were changed by hand.

    Raises:
        CheckpointError: with the reason.
    """
    if logged == VOID:
        raise CheckpointError(f"source {name} has no offset yet: there is nothing to change")
    found = logged_positions(logged)
    value = _parsed(logged)
    source = value.get("source") if isinstance(value, dict) else None
    if source == _FILES:
        raise CheckpointError(
            f"source {name} reads files: which ones were read is kept at its stateLocation too, and does not "
            "go back. To read files again start a query with a new checkpoint, and modifiedAfter or a pattern"
        )
    if source is not None and isinstance(value, dict) and "positions" not in value:
        raise CheckpointError(
            f"source {name} is {found.source}, in barrier mode: its positions lie in manifests beside the "
            "checkpoint, and staged rows are released once they are read. They cannot be changed from here"
        )
    if not found.positions:
        raise CheckpointError(
            f"source {name} is neither headwater's nor Spark's Kafka source: {logged[:200]}"
        )


def without_starts(logged: str) -> str:
    """Return an offset that stands for a batch of nothing behind one with the same positions."""
    value = _parsed(logged)
    if not (isinstance(value, dict) and "starts" in value):
        return logged
    # As PySpark writes what a source returns.
    return json.dumps({name: part for name, part in value.items() if name != "starts"})


def with_position(logged: str, split: str, position: int) -> str:
    """Return an offset behind which one split goes on at another position. The split is in it."""
    value = _parsed(logged)
    assert isinstance(value, dict)
    if "positions" not in value:
        return json.dumps(_replaced(value, split, position), separators=(",", ":"))
    return _with_parts(value, ("positions", "kept"), split, position)


def with_start(logged: str, split: str, position: int) -> str:
    """Return an offset of a batch that begins at another position of a split that is new in it."""
    value = _parsed(logged)
    assert isinstance(value, dict)
    return _with_parts(value, ("starts",), split, position)


def _with_parts(value: dict[str, JsonValue], parts: tuple[str, ...], split: str, position: int) -> str:
    changed = {name: _replaced(value[name], split, position) for name in parts if name in value}
    # As PySpark writes what a source returns: Spark compares offsets as texts.
    return json.dumps({**value, **changed})


def start_in(logged: str, split: str) -> JsonValue:
    """Return where the batch begins for a split that was new in it; None if it was there before."""
    value = _parsed(logged)
    starts = value.get("starts", {}) if isinstance(value, dict) else {}
    return dict(_leaves(starts)).get(split)


def _replaced(node: JsonValue, split: str, position: int, path: tuple[str, ...] = ()) -> JsonValue:
    if "-".join(path) == split and not (isinstance(node, dict) and "position" not in node):
        return {**node, "position": position} if isinstance(node, dict) else position
    if not isinstance(node, dict):
        return node
    return {name: _replaced(below, split, position, (*path, name)) for name, below in node.items()}


def _leaves(node: JsonValue, path: tuple[str, ...] = ()) -> Mapping[str, JsonValue]:
    if not isinstance(node, dict):
        return {"-".join(path): node}
    return {key: leaf for name, below in node.items() for key, leaf in _leaves(below, (*path, name)).items()}


def _parsed(logged: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(logged)
    except ValueError:
        return None
    return value
