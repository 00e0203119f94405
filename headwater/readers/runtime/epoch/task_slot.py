"""The slot of a task in the state location: the objects by which its attempts, and the driver, agree.

Which attempt reads, and what was read.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.state_store import StateStore


@dataclass(frozen=True)
class TaskSlot:
    """The objects of one task, in the folder of its epoch.

    ::

        00003.claim-1     the first attempt, and which process it is
        00003.beat-1      its last sign of life
        00003.over-1      it gave up, and why
        00003.claim-2     the attempt that took over: from here on the first one is fenced
        00003.manifest    what was read, or that nothing was; only the first one counts

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

    def manifest(self) -> bytes | None:
        """Return the manifest, None if none is published."""
        return self.store.get(self._name("manifest"))

    def publish(self, manifest: bytes) -> bytes:
        """Publish a manifest unless there is one; return the one that counts."""
        return self.store.put_if_absent(self._name("manifest"), manifest)

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
        """Return why an attempt gave up, None if it has not said so."""
        return self.store.get(self._name(f"over-{number}"))

    def put_over(self, number: int, reason: bytes) -> None:
        """Say that an attempt has given up."""
        self.store.put_if_absent(self._name(f"over-{number}"), reason, durable=False)

    def _name(self, what: str) -> str:
        return f"{self.epoch}/{self.number:05d}.{what}"
