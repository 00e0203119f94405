"""The merge rule on columns: which changes of a table in a batch the rows of its chunks hold already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import SourceError
from headwater.enumerators.postgres.chunk_rules import ChunkRules
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.visibility import Sight
from headwater.readers.kernels.arrays import Int64Array
from headwater.readers.postgres.change_rows import ChangeRule, ColumnMaker
from headwater.readers.postgres.text_values import MisfitTextError, text_column
from headwater.readers.postgres.types import type_of

if TYPE_CHECKING:
    import numpy.typing as npt


class MergeRule(ChangeRule):
    """Finds the chunk of each change by its key, and asks that chunk's sight. On the task's thread.

    Args:
        rules: of the table.
        types: the Arrow types of the key's columns, by name; None for those of the rules.
    """

    def __init__(self, rules: ChunkRules, types: Mapping[str, pa.DataType] | None = None) -> None:
        self._rules = rules
        if types is None:
            types = {name: type_of(oid) for name, oid in zip(rules.key, rules.types, strict=True)}
        self._types = types
        self._sights = [rules.sight_of(chunk) for chunk in range(len(rules.sights))]
        self._bounds = [
            self._bound(name, [low[at] for low in rules.lows]) for at, name in enumerate(rules.key)
        ]

    def __call__(
        self, xids: Int64Array, is_truncate: npt.NDArray[np.bool_], column: ColumnMaker
    ) -> npt.NDArray[np.bool_] | None:
        """Return which changes are emitted.

        Raises:
            SourceError: see `keeps_truncate`.
        """

        def keys(rows: npt.NDArray[np.int64]) -> Sequence[pa.Array[Any]]:
            return [column(name, self._types[name], rows) for name in self._rules.key]

        if not is_truncate.any():
            return self.kept(xids, lambda: keys(np.arange(len(xids))))
        mask = np.ones(len(xids), np.bool_)
        for row in np.flatnonzero(is_truncate):
            mask[row] = self.keeps_truncate(int(xids[row]))
        rows = np.flatnonzero(~is_truncate)
        is_emitted = self.kept(xids[rows], lambda: keys(rows))
        if is_emitted is not None:
            mask[rows] = is_emitted
        return mask

    def kept(
        self, xids: Int64Array, keys: Callable[[], Sequence[pa.Array[Any]]]
    ) -> npt.NDArray[np.bool_] | None:
        """Return which changes are emitted; None for all of them.

        Args:
            xids: the transaction of each change, with 64 bits.
            keys: makes the columns of the key, with a value for each change; called only where it counts.
        """
        if not len(xids) or xids.min() >= self._newest:
            return None
        chunks = self._chunks_of(keys()) if self._bounds else np.zeros(len(xids), np.int64)
        # The changes of one chunk together: each sight is asked once.
        order = np.argsort(chunks, kind="stable")
        begins = np.flatnonzero(np.diff(chunks[order], prepend=-1))
        is_emitted = np.empty(len(xids), np.bool_)
        for begin, end in zip(begins, [*begins[1:], len(order)], strict=True):
            rows = order[begin:end]
            is_emitted[rows] = emitted(self._sights[chunks[rows[0]]], xids[rows])
        return is_emitted

    def keeps_truncate(self, xid: int) -> bool:
        """Return whether a TRUNCATE of the whole table is emitted.

        Raises:
            SourceError: some chunks were read before it, and some after it: rows that it deletes and
                rows that came after it cannot be told apart any more.
        """
        are_emitted = {bool(emitted(sight, np.array([xid]))[0]) for sight in self._sights}
        if len(are_emitted) > 1:
            raise SourceError(
                "the table was truncated while its rows were read in chunks: no change can say which of them "
                "are gone. Begin again, with a new checkpointLocation and a new slot",
                source=SOURCE,
            )
        return are_emitted == {True}

    def _bound(self, name: str, texts: Sequence[str]) -> pa.Array[Any]:
        try:
            return text_array(self._types[name], texts)
        except MisfitTextError as error:
            raise SourceError(
                f"a chunk begins at the value {error.text} of column {name!r}, which has no place in the "
                "order of keys. Take such rows out of the table, and begin again, with a new "
                "checkpointLocation and a new slot",
                source=SOURCE,
            ) from None

    def _chunks_of(self, keys: Sequence[pa.Array[Any]]) -> Int64Array:
        """Return the number of the chunk of each key.

        Raises:
            SourceError: a change does not have the key.
        """
        if any(key.null_count for key in keys):
            raise SourceError(
                f"a change does not name its row by {', '.join(self._rules.key)}, by which the table was "
                "read in chunks: its replica identity was changed meanwhile. Begin again, with a new "
                "checkpointLocation and a new slot",
                source=SOURCE,
            )
        if len(keys) == 1 and _are_numbers(keys[0].type):
            place: Int64Array = np.searchsorted(
                _numbers(self._bounds[0]), _numbers(keys[0]), side="right"
            ).astype(np.int64)
            return place
        # Bounds and keys in one order, a bound before the keys that are equal to it.
        count = len(self._bounds[0])
        columns = [pa.concat_arrays([bound, key]) for bound, key in zip(self._bounds, keys, strict=True)]
        columns.append(pa.array(np.repeat([0, 1], [count, len(keys[0])])))
        names = [str(at) for at in range(len(columns))]
        order = pc.sort_indices(
            pa.table(columns, names), sort_keys=[(name, "ascending") for name in names]
        ).to_numpy()
        is_key = order >= count
        chunks = np.empty(len(keys[0]), np.int64)
        chunks[order[is_key].astype(np.int64) - count] = np.cumsum(~is_key)[is_key]
        return chunks

    @cached_property
    def _newest(self) -> int:
        """No transaction from this one on is visible in any chunk."""
        return max((each.end for each in self._sights), default=0)


def emitted(sight: Sight, changes: Int64Array) -> npt.NDArray[np.bool_]:
    """Return which changes are emitted, by a sight. Each is asked about once."""
    answers: npt.NDArray[np.bool_] = changes >= sight.begin
    unsure = np.flatnonzero(answers & (changes < sight.end))
    if unsure.size:
        distinct, places = np.unique(changes[unsure], return_inverse=True)
        sees = (sight.saw(int(each)).is_emitted for each in distinct)
        is_emitted = np.fromiter(sees, np.bool_, len(distinct))
        answers[unsure] = is_emitted[places]
    return answers


def text_array(kind: pa.DataType, texts: Sequence[str]) -> pa.Array[Any]:
    """Return values of the server's text, as the stream has them."""
    encoded = [text.encode() for text in texts]
    lengths = np.array([len(each) for each in encoded], np.int32)
    starts = np.concatenate([np.zeros(1, np.int64), lengths.cumsum(dtype=np.int64)])[:-1]
    return text_column(kind, np.frombuffer(b"".join(encoded) or b"\0", np.uint8), starts, lengths)


def _are_numbers(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date32(kind)


def _numbers(keys: pa.Array[Any]) -> Int64Array:
    """Return keys whose order is that of numbers as such."""
    wide: Any = keys.view(pa.int32()) if pa.types.is_date32(keys.type) else keys
    numbers: Int64Array = wide.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers
