"""The format `json`: each value is a JSON object whose fields are columns, as Spark's `from_json` has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.readers.formats.format import Format
from headwater.readers.formats.format_options import FormatOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.formats.json.json_decoder import JsonDecoder


@dataclass(frozen=True)
class JsonValueFormat(Format):
    """JSON objects as columns, with the meaning of Spark's ``from_json`` in the mode ``PERMISSIVE``.

    Attributes:
        arrow_schema: the columns, as Arrow's serialized schema. The columns for corrupt values and for what
            is rescued may be among them; else they are the last ones.
        options: what else the user has said.
    """

    arrow_schema: bytes
    options: FormatOptions

    def schema(self) -> pa.Schema:
        """Return the columns: those of the given schema, those for corrupt values and for what is rescued."""
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

    def decoder(self) -> JsonDecoder:
        """Make a decoder. Its kernel is loaded with the first value."""
        from headwater.readers.formats.json.json_decoder import JsonDecoder

        return JsonDecoder(self.schema(), self.options)
