"""The slot of a task in the state location: the objects by which its attempts, and the driver, agree.

Claims say which attempt reads; the manifest says how far it has read, as one object that is whole or refused.
"""

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
from headwater.core.state_store import StateStore


@dataclass(frozen=True)
class TaskSlot:
    """The objects of one task, in the folder of its epoch.

    ::

        00003.claim-1     the first attempt, and which process it is
        00003.beat-1      its last sign of life
        00003.over-1      it gave up, and why
        00003.claim-2     the attempt that took over: from here on the first one is fenced
        00003.manifest    how far was read, or that nothing was; only the first one counts

    Attributes:
        store: the state location.
        epoch: the folder.
        number: of the task.
    """

    store: StateStore
    epoch: str
    number: int

    def __str__(self) -> str:
        return f"task {self.number} of epoch {self.epoch}"

    @property
    def manifest_name(self) -> str:
        """The name of the manifest in the store."""
        return self._name("manifest")

    def manifest(self) -> bytes | None:
        """Return the manifest, None if none is published."""
        return self.store.get(self.manifest_name)

    def publish(self, manifest: bytes) -> bytes:
        """Publish a manifest unless there is one; return the one that counts."""
        return self.store.put_if_absent(self.manifest_name, manifest)

    def claim(self, number: int) -> bytes | None:
        """Return a claim, None if there is none of this number."""
        return self.store.get(self._name(f"claim-{number}"))

    def put_claim(self, number: int, claim: bytes) -> bytes:
        """Claim the slot as its number-th attempt; return the claim that counts."""
        return self.store.put_if_absent(self._name(f"claim-{number}"), claim, durable=False)

    def beat(self, number: int) -> bytes | None:
        """Return the last sign of life of an attempt, None if it gave none."""
        return self.store.get(self._name(f"beat-{number}"))

    def put_beat(self, number: int, beat: bytes) -> None:
        """Give a sign of life."""
        self.store.put(self._name(f"beat-{number}"), beat)

    def over(self, number: int) -> bytes | None:
        """Return why an attempt gave up, None if it did not."""
        return self.store.get(self._name(f"over-{number}"))

    def put_over(self, number: int, reason: bytes) -> None:
        """Say that an attempt has given up."""
        self.store.put_if_absent(self._name(f"over-{number}"), reason, durable=False)

    def _name(self, what: str) -> str:
        return f"{self.epoch}/{self.number:05d}.{what}"


_HEAD = re.compile(rb"headwater manifest (\d+) (\d+) ([0-9a-f]{64})\n")
_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """The result of a task: how far it has read.

    Attributes:
        state: the snapshot of the attempt that read; None if the driver has sealed the slot: no attempt read,
            and none may any more.
        metrics: of the reading, for people; the rows do not depend on them.
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
    """Return the manifest that `encode_manifest` wrote.

    Args:
        data: the stored object.
        source: knows its splits.
        where: names the task in errors.

    Raises:
        StateLocationError: it was cut short or changed, or is from a later version. Nothing may be written
            over it: the positions are not known.
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
