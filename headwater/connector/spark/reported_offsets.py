"""Offsets as they stand in a query's progress."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Reported: TypeAlias = dict[str, Any] | None
"""An offset of headwater; None where another source reported, or nothing is known."""


def reported_offset(reported: Any) -> Reported:
    """Return an offset of headwater, or None if it is another source's.

    Args:
        reported: ``startOffset``, ``endOffset`` or ``latestOffset`` of a source's progress.
    """
    try:
        offset = json.loads(reported) if isinstance(reported, str) else reported
    except ValueError:
        return None
    return offset if isinstance(offset, dict) and {"source", "version"} <= offset.keys() else None


def positions_by_split(offset: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the position of each live split, by its id.

    In barrier mode those are the positions before the epoch, of the splits that it reads, and of those that
    it aligns by event time. None has none.
    """
    if offset is None:
        return {}
    if "places" in offset:
        read = [tuple(path) for paths in offset["places"] for path in paths]
        aligned = [path for path, _ in _leaves(offset.get("fronts") or {})]
        return {"-".join(path): _at(offset["starts"], path) for path in (*read, *aligned)}
    positions = dict(leaves(offset.get("positions", {})))
    if offset["source"] == "hybrid":
        # Those of a chain name the part before the position there.
        return {split: position for split, (_, position) in positions.items()}
    return positions


def leaves(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a tree of names, each by the id of its split."""
    return (("-".join(path), leaf) for path, leaf in _leaves(node))


def _at(node: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def _leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(node, dict):
        yield path, node
        return
    for name, child in node.items():
        yield from _leaves(child, (*path, name))
