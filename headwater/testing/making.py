"""A source from its class or name, as Spark's planner process makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.sources.registry import source_factory
from headwater.connector.sources.user_sources import SourceClass, UserSource
from headwater.core.source import Boundedness


def configured(
    source: SourceClass | str, options: Mapping[str, str], boundedness: Boundedness | None
) -> ConfiguredSource:
    """Return a source made of its options: keys come lower-cased, and an inferred schema is passed on.

    Args:
        source: the class, or the name of a source that is built in or installed.
        options: of the source.
        boundedness: a batch or a stream; None if only the schema will be asked for.

    Raises:
        OptionError: the source does not take these options.
    """
    factory = source_factory(source) if isinstance(source, str) else UserSource(source)
    configured = factory({key.lower(): value for key, value in options.items()}, boundedness)
    return replace(configured, source=configured.source.with_schema(configured.source.schema(), given=False))
