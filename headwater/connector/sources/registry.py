"""From the ``source`` option to the class that makes the source."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import Final

from headwater.connector.sources.configured import SourceFactory
from headwater.core.errors import OptionError, nearest

ENTRY_POINTS: Final = "headwater.sources"
"""The group of entry points under which packages offer sources."""

_BUILT_IN = {
    "demo": ("headwater.connector.sources.demo", "configure_demo"),
    "files": ("headwater.connector.sources.files.source", "configure_files"),
    "http": ("headwater.connector.sources.http.source", "configure_http"),
    "kafka": ("headwater.connector.sources.kafka.source", "configure_kafka"),
    "mqtt": ("headwater.connector.sources.mqtt", "configure_mqtt"),
}


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
            f"{target!r} cannot be imported: {error}; the module must be installed where the driver and "
            "every executor find it",
            option="source",
        ) from error
    return UserSource(found)
