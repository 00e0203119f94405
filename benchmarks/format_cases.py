"""The formats that are compared: who decodes them how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import orders
from spark_kafka_jars import AVRO, PROTOBUF

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["CASES", "Case", "Places"]


@dataclass(frozen=True)
class Places:
    """What both subjects need to find their schemas.

    Attributes:
        registry: the URL of the registry.
        descriptor: the path of the file with the descriptor set.
    """

    registry: str
    descriptor: str


@dataclass(frozen=True)
class Case:
    """One table row.

    Attributes:
        name: of the row.
        encode: makes the value of a row.
        options: of headwater, without those of the topic.
        decode: what Spark's users write: the column of the value's fields.
        wanted: how many times as fast as the JVM source headwater is to be.
        wanted_by_cpu: the same by CPU time; None: nothing is promised.
        artifact: the jar that ``decode`` needs.
    """

    name: str
    encode: Callable[[dict[str, Any]], bytes]
    options: Callable[[Places], Mapping[str, str]]
    decode: Callable[[Places], Column]
    wanted: float
    wanted_by_cpu: float | None = None
    artifact: str | None = None


def _from_json(_: Places) -> Column:
    from pyspark.sql import functions as sf

    return sf.from_json(sf.expr("cast(value as string)"), orders.DDL)


def _from_avro(_: Places) -> Column:
    from pyspark.sql.avro.functions import from_avro

    return from_avro("value", orders.AVRO_SCHEMA)


def _from_confluent_avro(_: Places) -> Column:
    from pyspark.sql import functions as sf
    from pyspark.sql.avro.functions import from_avro

    return from_avro(sf.expr("substring(value, 6)"), orders.AVRO_SCHEMA)


def _from_protobuf(places: Places) -> Column:
    from pyspark.sql.protobuf.functions import from_protobuf

    return from_protobuf("value", orders.MESSAGE, places.descriptor)


CASES = (
    Case(
        "JSON",
        orders.json_text,
        lambda _: {"valueFormat": "json", "valueSchema": orders.DDL},
        _from_json,
        wanted=5,
        wanted_by_cpu=4.5,
    ),
    Case(
        "Avro",
        orders.avro,
        lambda _: {"valueFormat": "avro", "valueAvroSchema": orders.AVRO_SCHEMA},
        _from_avro,
        wanted=2.5,
        artifact=AVRO,
    ),
    Case(
        "Avro, Confluent",
        orders.confluent_avro,
        lambda places: {"valueFormat": "confluent-avro", "schema.registry.url": places.registry},
        _from_confluent_avro,
        wanted=2.5,
        artifact=AVRO,
    ),
    Case(
        "Protobuf",
        orders.protobuf,
        lambda places: {
            "valueFormat": "protobuf",
            "valueDescriptor": places.descriptor,
            "valueMessage": orders.MESSAGE,
        },
        _from_protobuf,
        wanted=2.5,
        artifact=PROTOBUF,
    ),
)
