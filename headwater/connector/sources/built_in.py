"""headwater's own sources by name: the function that makes each, and its options. Both are loaded late."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from headwater.connector.options import OptionTable
    from headwater.connector.sources.configured import SourceFactory


@dataclass(frozen=True)
class BuiltIn:
    """One of headwater's own sources.

    Attributes:
        factory: the function that makes the source, below this package; of a plugin its class.
        table: its options, below this package; empty for a plugin, whose class has them.
        title: the source in a sentence.
        page: of the docs, with the table of options.
    """

    factory: str
    table: str
    title: str
    page: str

    @property
    def is_plugin(self) -> bool:
        """Whether it is a class on the floor of plugins."""
        return not self.table


BUILT_IN: Final = {
    "demo": BuiltIn("demo:configure_demo", "demo:DEMO_OPTIONS", "orders that are made up", "docs/demo.md"),
    "files": BuiltIn("files.source:configure_files", "files.options:FILES_OPTIONS", "files", "docs/files.md"),
    "http": BuiltIn("http.options:configure_http", "http.options:HTTP_OPTIONS", "a REST API", "docs/http.md"),
    "hybrid": BuiltIn(
        "hybrid.configure:configure_hybrid",
        "hybrid.options:HYBRID_OPTIONS",
        "a chain of sources",
        "docs/hybrid.md",
    ),
    "kafka": BuiltIn(
        "kafka.configure:configure_kafka", "kafka.options:KAFKA_OPTIONS", "Kafka", "docs/options.md"
    ),
    "kinesis": BuiltIn("headwater.plugins.kinesis:Kinesis", "", "Amazon Kinesis", "docs/kinesis.md"),
    "mqtt": BuiltIn("mqtt.options:configure_mqtt", "mqtt.options:MQTT_OPTIONS", "MQTT", "docs/mqtt.md"),
    "nats": BuiltIn("headwater.plugins.nats:Nats", "", "NATS JetStream", "docs/nats.md"),
    "postgres": BuiltIn(
        "postgres.source:configure_postgres",
        "postgres.options:POSTGRES_OPTIONS",
        "tables of PostgreSQL",
        "docs/postgres.md",
    ),
    "rabbitmq": BuiltIn("headwater.plugins.rabbitmq:RabbitMQ", "", "RabbitMQ streams", "docs/rabbitmq.md"),
    "redis": BuiltIn("headwater.plugins.redis:Redis", "", "Redis Streams", "docs/redis.md"),
}
"""By the values of the option ``source``."""


def built_in_factory(name: str) -> SourceFactory:
    """Return the function that makes a source which is no plugin."""
    factory: SourceFactory = _attribute(BUILT_IN[name].factory)
    return factory


def built_in_options(name: str) -> OptionTable:
    """Return the options of a source which is no plugin."""
    table: OptionTable = _attribute(BUILT_IN[name].table)
    return table


def _attribute(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
