"""Schemas of values that no option names: inferred from a sample of the records that a batch would read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.formats.ddl import schema
from headwater.connector.formats.options import FORMAT_OPTIONS, PartOptions
from headwater.core.errors import HeadwaterError, OptionError
from headwater.core.redaction import logger_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from headwater.connector.sources.configured import ConfiguredPlannedSource


from collections.abc import Sequence

from pyspark.sql.types import StructType

from headwater.connector.compat import spark_fields

log = logger_of(__name__)

MOST_RECORDS: Final = 10_000
MOST_BYTES: Final = 16 << 20
_MOST_TASKS: Final = 16


class SchemaSample:
    """Infers schemas, and keeps them. On the driver, in the process that asks for the schema of a read.

    Attributes:
        inferred: the schemas, as options that the user could have given.

    Args:
        options: the user's.
        configure: makes the source of a batch from options.
    """

    def __init__(
        self, options: Mapping[str, str], configure: Callable[[Mapping[str, str]], ConfiguredPlannedSource]
    ) -> None:
        self._options = options
        self._configure = configure
        self.inferred: dict[str, str] = {}

    def fields(self, part: PartOptions) -> StructType:
        """Read a sample of keys or values, and return the fields of their JSON. Blocks.

        Raises:
            OptionError: there is nothing to infer from, or no columns can be made of it.
        """
        try:
            values = list(self._values(part.PART))
        except HeadwaterError as error:
            raise _required(part, f"reading a sample of records failed: {error}") from error
        try:
            fields = inferred_fields(values)
            schema(fields.json())
        except ValueError as error:
            raise _required(part, f"what a sample of {len(values)} records has {error}") from error
        if not fields.fields:
            raise _required(part, f"a sample of {len(values)} records has no JSON object with a field")
        log.warning(
            "%s was inferred from %d records; another run may find other fields: %s",
            part.OPTIONS["schema"].name,
            len(values),
            ddl_of(fields),
        )
        self.inferred[part.OPTIONS["schema"].name] = ddl_of(fields)
        return fields

    def _values(self, part: str) -> Iterator[bytes]:
        """Yield keys or values of some tasks that a batch would have, of each from its beginning."""
        source = self._configure(_without_formats(self._options) | {"columns": part})
        with closing(source.create_coordinator()) as coordinator:
            tasks = list(coordinator.plan_all())
        sample = tasks[:: -(-len(tasks) // _MOST_TASKS)] if tasks else []
        for task in sample:
            yield from _first_values(source, task, 1 / len(sample))


def ddl_of(fields: StructType) -> str:
    """Return fields as a user may write them: as DDL, or as JSON where names are odd."""
    text = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields.fields)
    try:
        same = schema(text) == fields
    except ValueError:
        same = False
    return text if same else fields.json()


def _first_values(source: ConfiguredPlannedSource, task: Any, share: float) -> Iterator[bytes]:
    records = max(1, int(MOST_RECORDS * share))
    size = int(MOST_BYTES * share)
    with closing(source.read_task(task)) as batches:
        for batch in batches:
            for value in batch.column(0):
                content = value.as_py()
                records -= 1
                size -= len(content or b"")
                if content is not None:
                    yield content
                if records <= 0 or size <= 0:
                    return


def _without_formats(options: Mapping[str, str]) -> dict[str, str]:
    ours = {option.name.lower() for option in FORMAT_OPTIONS}
    return {name: value for name, value in options.items() if name.lower() not in ours}


def _required(part: PartOptions, why: str) -> OptionError:
    return OptionError(
        f"is required here: it names the fields. A batch would infer it, but {why}",
        option=part.OPTIONS["schema"].name,
    )


def inferred_fields(values: Sequence[bytes]) -> StructType:
    """Return the fields that objects have, sorted by name; those that are only ever null are strings.

    Values that are not JSON objects count for nothing: they are bad with any schema.

    Args:
        values: of one sample.

    Raises:
        FormatSchemaError: no columns can be made of the fields.
    """
    from headwater.readers.formats.json.shape_inference import InferenceRules, ShapeInference

    shapes = ShapeInference(InferenceRules())
    shapes.add_each([value for value in values if value.lstrip().startswith(b"{")])
    return spark_fields(shapes.schema())
