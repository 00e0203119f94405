"""Settings of the session in which Spark and we read, with or without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tests.parity.golden.answers import Answers
from tests.parity.golden.local_reads import JAVA_ZONE, SESSION_ZONE

__all__ = ["Settings"]

_JAVA_ZONE = "java.util.TimeZone"


class Settings:
    """What the session was given; in Spark's own session too where Spark is asked.

    Attributes:
        values: by the names of settings.

    Args:
        answers: how Spark parses schemas.
        spark: returns the session; called only where Spark is asked.
    """

    def __init__(self, answers: Answers, spark: Callable[[], SparkSession]) -> None:
        self.values: dict[str, str] = {SESSION_ZONE: "UTC"}
        self._answers = answers
        self._spark = spark
        self._java_zone = "UTC"

    @property
    def spark(self) -> SparkSession:
        """Spark's session. Where Spark is asked."""
        return self._spark()

    @property
    def of_tasks(self) -> dict[str, str]:
        """What Spark tells tasks: the values, and the zone of its JVM."""
        return {JAVA_ZONE: self._java_zone, **self.values}

    def question(self) -> tuple[str, ...]:
        """Return what a question depends on: what is set otherwise than by default."""
        settings = sorted(f"{name}={value}" for name, value in self.values.items())
        zone = [] if self._java_zone == "UTC" else [f"{_JAVA_ZONE}={self._java_zone}"]
        return (*(setting for setting in settings if setting != f"{SESSION_ZONE}=UTC"), *zone)

    def parsed(self, ddl: str) -> StructType:
        """Return the schema that Spark makes of its words.

        Raises:
            ParseException: it is none.
        """

        def ask() -> str:
            self._spark()
            try:
                return StructType.fromDDL(ddl).json()
            except ParseException:
                return ""

        schema = self._answers.ask(("schema", ddl, self.question()), ask)
        if not schema:
            raise ParseException(f"no schema: {ddl}")
        return StructType.fromJson(json.loads(schema))

    @contextmanager
    def such(self, name: str, value: str | None) -> Iterator[None]:
        """Let a setting have a value, or none that somebody has set."""
        before = self.values.get(name)
        self._set(name, value)
        try:
            yield
        finally:
            self._set(name, before)

    @contextmanager
    def java_zone(self, name: str) -> Iterator[None]:
        """Let the JVM of Spark be in another time zone."""
        before, self._java_zone = self._java_zone, name
        self._set_java_zone()
        try:
            yield
        finally:
            self._java_zone = before
            self._set_java_zone()

    def _set(self, name: str, value: str | None) -> None:
        if value is None:
            self.values.pop(name, None)
        else:
            self.values[name] = value
        if self._answers.asks_spark:
            conf = self._spark().conf
            conf.unset(name) if value is None else conf.set(name, value)

    def _set_java_zone(self) -> None:
        if self._answers.asks_spark:
            jvm: Any = self._spark()._jvm
            zones = jvm.java.util.TimeZone
            zones.setDefault(zones.getTimeZone(self._java_zone))
