"""The contract of formats: bytes of records in, typed Arrow columns out. Loads no Arrow by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from headwater.readers.kernels.arrays import ByteArray, Int64Array

OnBadValue: TypeAlias = Literal["keep", "drop", "fail"]


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """How values are decoded, whatever their format. Immutable and picklable.

    Attributes:
        corrupt_column: the name of a column of strings that holds the text of each bad value, bytes that are
            no UTF-8 as U+FFFD; of a binary format as Base64. None: there is no such column.
        rescued_column: the name of a column of strings that holds, as a JSON object, the fields that the
            schema does not name or could not take. None: there is no such column, and a value that does not
            fit its field makes the whole value bad.
        time_zone: the zone of times without one, as the time zone database names it or as an offset such as
            ``+01:00``. None: such a time cannot become a point in time.
        timestamp_format: how times are written, as Java's `DateTimeFormatter` has it. None: as ISO 8601.
        timestamp_ntz_format: how times without a zone are written.
        date_format: how dates are written.
        time_fallback: whether dates and times that do not follow their pattern are read as Spark casts text.
            None: where there is no pattern. CSV has it in its dialect.
    """

    corrupt_column: str | None = None
    rescued_column: str | None = None
    time_zone: str | None = None
    timestamp_format: str | None = None
    timestamp_ntz_format: str | None = None
    date_format: str | None = None
    time_fallback: bool | None = None

    @property
    def date_fallback(self) -> bool:
        """Whether dates are read in another way if they do not follow ``date_format``."""
        return self.date_format is None if self.time_fallback is None else self.time_fallback

    @property
    def timestamp_fallback(self) -> bool:
        """Whether times are read in another way if they do not follow ``timestamp_format``."""
        return self.timestamp_format is None if self.time_fallback is None else self.time_fallback


class Spans(NamedTuple):
    """Where values lie: in bytes that were fetched, decompressed or read, one after the other or not.

    Attributes:
        data: the bytes. They are read where they are, never written to, and needed only during the call.
        starts: the first byte of each value, counted from the beginning of ``data``.
        sizes: how many bytes each value has; below 0 is null. Each value lies inside of ``data``.
    """

    data: ByteArray
    starts: Int64Array
    sizes: Int64Array

    def value(self, row: int) -> bytes | None:
        """Return a copy of one value. For single values that need attention, not for all."""
        size = int(self.sizes[row])
        start = int(self.starts[row])
        return None if size < 0 else self.data[start : start + size].tobytes()


class BadValues(NamedTuple):
    """Values of one `ValueDecoder.append` that could not be decoded, or not as a whole.

    Attributes:
        rows: which values of the spans, ascending.
        reasons: for each of them the code that `ValueDecoder.reason` explains.
    """

    rows: Int64Array
    reasons: Int64Array


class Format(ABC):
    """How bytes become columns: a format with its schema and options.

    Immutable and picklable: made on the driver from the user's options, sent to executors with the source. It
    loads neither numpy nor pyarrow before `schema` or `decoder` is called.

    The columns of a value are a pure function of its bytes, of the writer's schema whose id these name, and
    of the options. A replay gives the same rows, on another host, on another day and in other
    batches. So nothing may depend on the clock, the locale or the host's time zone.
    """

    @property
    def is_single_value(self) -> bool:
        """Whether a value is one column, and not a struct of fields. No, by default."""
        return False

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the columns that decoders make, all of them nullable.

        Those for corrupt values and for rescued fields are among them, where they are asked for.
        """

    def prefix_of(self, header: bytes) -> bytes | None:
        """Return what would stand in front of a value whose schema is named in a header of its record.

        Called on executors, for each distinct header once a decoder. Asks nothing of the outside. The default
        knows no such headers.

        Args:
            header: the content of ``__value_schema_id`` or ``__key_schema_id``.

        Returns:
            None: the header names no schema in a way that is known.
        """
        return None

    @property
    def base64_at(self) -> int | None:
        """Which of the columns holds the bytes of bad values as Base64, what names their schema included."""
        return None

    def in_time_zone(self, zone: str) -> Format:
        """Return the same format, with this zone for times without one unless the user gave another.

        Called on executors, before `decoder`. The default knows no such times.
        """
        return self

    @abstractmethod
    def decoder(self) -> ValueDecoder:
        """Make a decoder. Called on executors, once a task and column; cheap: kernels load late.

        Raises:
            MissingDependencyError: a library is not installed in this process. Raised here or by the first
                `append`.
        """


@dataclass(frozen=True)
class ColumnsFormat(Format):
    """A format whose columns the user gives.

    Attributes:
        arrow_schema: the columns, as Arrow's serialized schema. Those for corrupt values and for rescued
            fields may be among them; else they are the last ones.
        options: all other settings of the user.
    """

    arrow_schema: bytes
    options: FormatOptions

    def schema(self) -> pa.Schema:
        """Return the columns of the given schema, then those for corrupt values and for rescued fields."""
        import pyarrow as pa

        schema = pa.ipc.read_schema(pa.py_buffer(self.arrow_schema))
        for name in (self.options.corrupt_column, self.options.rescued_column):
            if name is not None and name not in schema.names:
                schema = schema.append(pa.field(name, pa.string()))
        return schema

    def in_time_zone(self, zone: str) -> Format:
        if self.options.time_zone is not None:
            return self
        return replace(self, options=replace(self.options, time_zone=zone))


class ValueDecoder(ABC):
    """Decodes values into the columns of an Arrow batch, with several calls of `append` for one batch.

    One owner, one thread: that of the task.
    """

    @abstractmethod
    def append(self, spans: Spans) -> BadValues | None:
        """Decode these values into the next rows, one row each.

        A null is a row of nulls, and never bad. A bad value is a row too: its decodable part, as the
        format's rules say, and its text in the column for corrupt values, if there is one. Which rows stay is
        for the caller to decide.

        Returns:
            The bad values; None if all were good.

        Raises:
            SourceError: a value cannot be decoded now, but perhaps later: its schema cannot be had. That
                is never a bad value, because a replay might decode it. The error's position is the number
                of the value.
        """

    def nulls(self, spans: Spans) -> npt.NDArray[np.bool_]:
        """Return which values are null as a whole, where a value is one column. Nulls alone, by default."""
        return spans.sizes < 0

    @abstractmethod
    def reason(self, code: int, row: int | None = None) -> str:
        """Return why a value is bad, as the end of a sentence: "is not JSON".

        Args:
            code: of the reason.
            row: the number of the value in the last `append`, whose bytes are still there: then the text
                may be named that is bad.
        """

    @abstractmethod
    def finish(self) -> Sequence[pa.Array[Any]]:
        """Return the rows since the last call as columns, in the order of `Format.schema`, and start anew.

        The arrays keep their memory alive.
        """


@dataclass(frozen=True, kw_only=True)
class DecodedPart:
    """A key or value that a format decodes.

    Attributes:
        format: makes its columns.
        prefix: comes before their names where each is a column of the row.
        on_bad: the fate of a row whose key or value the format cannot decode.
        zone_option: the option that names the time zone, if the format needs one and the user gave none;
            else empty.
        names_schemas: whether each value names its schema, in front or in a header of its record.
    """

    format: Format
    prefix: str = ""
    on_bad: OnBadValue = "keep"
    zone_option: str = ""
    names_schemas: bool = False


def first_clash(columns: Iterable[tuple[str, str]]) -> tuple[str, str, str] | None:
    """Return the first name that two columns of a row have, and whose they are; None if there is none.

    Case does not count. But columns of one schema may differ in case alone, as fields in `from_json`: where
    Spark does not tell them apart, it says so to whoever names one.

    Args:
        columns: the name of each, and whose it is.
    """
    owners: dict[str, str] = {}
    names: set[str] = set()
    for name, owner in columns:
        first = owners.setdefault(name.lower(), owner)
        if first != owner or name in names:
            return name, first, owner
        names.add(name)
    return None


def part_of(column: str) -> str:
    """Return ``value`` for ``value.*``, and the name of any other column as it is."""
    return column.removesuffix(".*")


def is_spread(column: str) -> bool:
    """Whether a name stands for all columns of a decoded part, each as one of the row."""
    return column.endswith(".*")
