"""Manifests: what a task of an epoch has read, as one object that is whole or refused."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any, cast

from headwater.core.epoch import EpochState
from headwater.core.epoch_json import state_from_json, state_to_json
from headwater.core.errors import OffsetError, StateLocationError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.source import Source

_HEAD = re.compile(rb"headwater manifest (\d+) (\d+) ([0-9a-f]{64})\n")
_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """What a task has read.

    Attributes:
        state: the snapshot of the attempt that read; None if the driver has sealed the slot: no attempt read,
            and none may any more.
        metrics: of the reading, for people; what was read does not depend on them.
        size_bytes: of the stored object.
    """

    state: EpochState | None
    metrics: JsonObject = field(default_factory=dict)
    size_bytes: int = 0


def encode_manifest(manifest: Manifest, source: Source[Any, Any, Any]) -> bytes:
    """Return the object that is stored: a line with version, length and digest, then JSON."""
    state: JsonValue = None if manifest.state is None else state_to_json(manifest.state, source)
    body = dumps({"metrics": manifest.metrics, "state": state}).encode()
    return _head(body) + body


def decode_manifest(data: bytes, source: Source[Any, Any, Any], where: str) -> Manifest:
    """Return what `encode_manifest` wrote.

    Args:
        data: the stored object.
        source: knows its splits.
        where: names the task in errors.

    Raises:
        StateLocationError: it was cut short or changed, or is from a later version. Nothing may be written
            over it: what was read is not known.
    """
    head = _HEAD.match(data)
    body = data[head.end() :] if head else b""
    if head is None or head.group() != _head(body, int(head.group(1))):
        raise StateLocationError(
            f"the manifest of {where} is cut short or was changed ({len(data)} bytes): what that task read "
            "is not known. Restore stateLocation from the backup that was taken with the checkpoint, or "
            "begin with a new checkpoint and a new stateLocation"
        )
    version = int(head.group(1))
    if version != _VERSION:
        raise StateLocationError(
            f"the manifest of {where} has version {version}, this headwater reads {_VERSION}: install a "
            "later one"
        )
    whole = cast("dict[str, Any]", json.loads(body))
    try:
        state = None if whole["state"] is None else state_from_json(source, whole["state"])
    except OffsetError as error:
        raise StateLocationError(
            f"the manifest of {where} does not belong to source {source.name}: {error}"
        ) from error
    return Manifest(state, whole["metrics"], len(data))


def _head(body: bytes, version: int = _VERSION) -> bytes:
    return f"headwater manifest {version} {len(body)} {hashlib.sha256(body).hexdigest()}\n".encode()


_SEALED_BODY = dumps({"metrics": {}, "state": None}).encode()

SEALED = _head(_SEALED_BODY) + _SEALED_BODY
"""The manifest of a slot that is sealed: the same bytes from every driver."""
