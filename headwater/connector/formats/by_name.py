"""The formats by the names that users write. Loads none of them before it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.connector.formats.format_request import ChosenFormat, FormatRequest

_DEBEZIUM: Final = "headwater.connector.formats.debezium_formats"
_PLAIN: Final = "headwater.connector.formats.plain_formats"
_REGISTERED: Final = "headwater.connector.formats.registered_formats"
_BAD: Final = frozenset({"mode", "corrupt_column"})
_JSON: Final = _BAD | {"schema", "time_zone", "timestamp_format", "timestamp_ntz_format", "date_format"}
_CSV: Final = _JSON | {"csv_options"}
_RESCUED: Final = frozenset({"rescued_column"})
_PROTOBUF: Final = _BAD | {"descriptor", "message", "emit_defaults", "enums_as_ints", "upcast_unsigned"}
_VERSION: Final = frozenset({"subject", "subject_strategy", "version", "message"})


class KnownFormat(NamedTuple):
    """A format that a user can name.

    Attributes:
        module: where the function is that chooses it.
        function: finds its schema. May read a file or ask a registry.
        takes: which of the options of a part mean something for it, by their fields in `PartOptions`, beside
            those that all formats have.
        asks_registry: whether it asks a schema registry.
        schema_suffices: whether it does not where the user names the fields.
    """

    module: str
    function: str
    takes: frozenset[str] = frozenset()
    asks_registry: bool = False
    schema_suffices: bool = False

    def choose(self, request: FormatRequest) -> ChosenFormat:
        """Find the schema, and return the format with it."""
        function: Callable[[FormatRequest], ChosenFormat] = getattr(import_module(self.module), self.function)
        return function(request)


FORMATS: Final[Mapping[str, KnownFormat]] = {
    "avro": KnownFormat(_PLAIN, "avro", _BAD | {"avro_schema", "avro_writer_schema"}),
    "confluent-avro": KnownFormat(_REGISTERED, "avro", _BAD | _VERSION | {"avro_schema"}, asks_registry=True),
    "confluent-json": KnownFormat(
        _REGISTERED, "json", _JSON | _RESCUED | _VERSION, asks_registry=True, schema_suffices=True
    ),
    "confluent-protobuf": KnownFormat(_REGISTERED, "protobuf", _PROTOBUF | _VERSION, asks_registry=True),
    "csv": KnownFormat(_PLAIN, "csv", _CSV),
    "debezium-avro": KnownFormat(_DEBEZIUM, "avro", _BAD | _VERSION | {"avro_schema"}, asks_registry=True),
    "debezium-json": KnownFormat(_DEBEZIUM, "json", _JSON),
    "json": KnownFormat(_PLAIN, "json", _JSON | _RESCUED),
    "protobuf": KnownFormat(_PLAIN, "protobuf", _PROTOBUF),
    "text": KnownFormat(_PLAIN, "text"),
}
