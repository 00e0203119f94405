"""How a column of bytes in the rows that a reader makes becomes typed columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headwater.core.barrier_reader import EpochRecord
from headwater.core.emitter import RecordEmitter
from headwater.core.jsons import JsonValue

if TYPE_CHECKING:
    import pyarrow as pa


class Decoding(ABC):
    """Turns a column of the rows that a reader makes into typed columns. Made by ``hw.decode``.

    Immutable and picklable: made on the driver, where schemas are known, and sent to executors with the
    source that holds it.
    """

    @property
    @abstractmethod
    def logged_schema(self) -> JsonValue:
        """The entry of offsets about the decoded fields: for `Source.logged_schema`."""

    @property
    @abstractmethod
    def takes_other_schemas(self) -> bool:
        """Whether a query may go on with other fields: for `Source.takes_other_schemas`."""

    @abstractmethod
    def schema(self, rows: pa.Schema) -> pa.Schema:
        """Return the schema of the rows of a query: for `Source.schema`. No I/O.

        Args:
            rows: the schema of the rows that the reader makes.

        Raises:
            OptionError: there is no such column, or it holds no bytes and no strings, or two columns get one
                name.
        """

    @abstractmethod
    def create_emitter(self, rows: pa.Schema, *, source: str) -> RecordEmitter[EpochRecord, Any, Any]:
        """Make the emitter of one task: for `Source.create_emitter`. On an executor; no I/O.

        It takes `EpochRecord` objects, whose rows have the schema ``rows``. It raises while it emits:
        a CorruptRecordError for a value that cannot be decoded, if ``mode`` is FAILFAST; a SourceError for
        one that cannot be decoded now, because a schema registry is away.

        Args:
            rows: the schema of the rows that the reader makes.
            source: the name of the source, for errors.

        Raises:
            OptionError: the format needs a time zone, and no option has it.
        """
