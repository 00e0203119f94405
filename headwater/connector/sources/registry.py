"""From the ``source`` option to the class that makes the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol

from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.planning import PlanningHints
from headwater.core.errors import OptionError, nearest
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness, Source

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    # Loads pyarrow, which a session that only looks for sources does without.
    from headwater.connector.barrier.plan import Epochs

__all__ = ["ENTRY_POINTS", "ConfiguredSource", "SourceFactory", "source_factory"]

ENTRY_POINTS: Final = "headwater.sources"
"""The group of entry points under which packages offer sources."""

_BUILT_IN = {
    "files": ("headwater.connector.sources.files.source", "configure_files"),
    "http": ("headwater.connector.sources.http", "configure_http"),
    "kafka": ("headwater.connector.sources.kafka.source", "configure_kafka"),
    "mqtt": ("headwater.connector.sources.mqtt", "configure_mqtt"),
}


@dataclass(frozen=True)
class ConfiguredSource:
    """A source and how its coordinator is to plan: everything that the options say. Picklable; opens nothing.

    Attributes:
        epochs: how a source in barrier mode is run, None for one in planned mode; limits and hints then say
            nothing.
        push_filters: whether a batch read takes Spark's filters: only where the user asks, because Spark
            refuses such a reader by default.
        spark_schema: the source's schema in Spark's types, where it is known without loading Arrow; None if
            it is to be made of the source's.
    """

    source: Source[Any, Any, Any]
    limits: ReadLimits
    hints: PlanningHints
    backoff: Backoff
    epochs: Epochs | None = None
    push_filters: bool = False
    spark_schema: StructType | None = None


class SourceFactory(Protocol):
    """Makes a source from the user's options (keys lower-cased, as Spark delivers them).

    ``boundedness`` is None where only the schema will be asked for: Spark does so before it says whether it
    reads a batch or a stream.
    """

    def __call__(self, options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredSource: ...


def source_factory(name: str | None) -> SourceFactory:
    """Return the factory of a source.

    One of headwater's own, one that an installed package offers, or the class ``package.module:Class``.

    A package offers sources as entry points of the group ``headwater.sources``: the name that users write,
    and the class.

    Raises:
        OptionError: no name was given, none of this name is known, or what it names cannot be imported or is
            no source.
    """
    if not name:
        raise OptionError(
            f"is required: .option('source', ...) with one of {', '.join(sorted(_BUILT_IN))}", option="source"
        )
    if name.lower() in _BUILT_IN:
        module, function = _BUILT_IN[name.lower()]
        factory: SourceFactory = getattr(import_module(module), function)
        return factory
    from importlib.metadata import entry_points

    offered = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    target = next((value for offer, value in offered.items() if offer.lower() == name.lower()), name)
    if ":" not in target:
        known = sorted({*_BUILT_IN, *offered})
        near = nearest(name, known)
        hint = (
            f"did you mean {near!r}?"
            if near
            else f"known are {', '.join(known)}, and classes as package.module:Class"
        )
        raise OptionError(f"no source is called {name!r}; {hint}", option="source")
    return _imported(target)


def _imported(target: str) -> SourceFactory:
    from headwater.connector.sources.user_sources import UserSource

    module, _, attribute = target.partition(":")
    try:
        found = attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise OptionError(
            f"{target!r} cannot be imported: {error}; the module must be installed where the driver and every executor find it",
            option="source",
        ) from error
    return UserSource(found)
