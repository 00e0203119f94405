"""Record sets of Kafka themselves, mutated: what the broker is trusted not to send."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.readers.kafka.columns import KAFKA_COLUMNS
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet
from headwater.readers.kafka.settings import KafkaReadSettings
from headwater.readers.kernels.arrays import ByteArray
from tests.formats.fuzz.guarded import GuardedMemory
from tests.formats.fuzz.mutation import Values
from tests.readers.kafka.record_sets import COMPRESS, state_of
from tests.readers.kafka.test_fuzz import written

_GOOD_SETS: Final = 200
_SETTINGS: Final = KafkaReadSettings(most_inflated_bytes=1 << 22)


def record_sets(rng: random.Random) -> Sequence[bytes]:
    """Return good record sets of all codecs."""
    return [written(rng, rng.choice(sorted(COMPRESS))) for _ in range(_GOOD_SETS)]


class RecordSetChecker:
    """Decodes record sets, mostly without looking at checksums, which no broken one would pass. One thread.

    Args:
        rng: chooses where the bytes lie.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._memory = GuardedMemory(1 << 16)
        self._emitters: dict[bool, KafkaRecordEmitter] = {}

    def check(self, values: Values) -> int:
        """Decode each record set three times; return how many were refused."""
        refused = 0
        for start, size in zip(values.starts.tolist(), np.maximum(values.sizes, 0).tolist(), strict=True):
            data = values.data[start : start + size]
            found = self._rows(data)
            assert found == self._rows(data), "decoded twice, another result"
            assert self._rows(data, check_crcs=True) in (None, found), "with checksums, another result"
            refused += found is None
        return refused

    def _rows(self, data: ByteArray, *, check_crcs: bool = False) -> list[pa.RecordBatch] | None:
        if data.size > self._memory.size:
            self._memory = GuardedMemory(2 * data.size)
        at_end = self._rng.random() < 0.7
        place = self._memory.at_end(data.size) if at_end else self._memory.at_begin(data.size)
        place[:] = data
        emitter = self._emitters.pop(check_crcs, None) or KafkaRecordEmitter(
            KAFKA_COLUMNS, check_crcs=check_crcs, settings=_SETTINGS
        )
        try:
            batches = [*emitter.emit(RecordSet(place), state_of()), *emitter.flush()]
        except SourceError as error:
            if (error.source, error.split) != ("kafka", "orders-3"):
                raise
            return None
        # As a task has it, for one record set after the other, until one is damaged.
        self._emitters[check_crcs] = emitter
        for batch in batches:
            batch.validate(full=True)
        return batches
