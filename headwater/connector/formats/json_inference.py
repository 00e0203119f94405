"""The fields of JSON values, inferred from a sample by the rules of Spark's `spark.read.json`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import StructType

from headwater.connector.compat import spark_fields


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
