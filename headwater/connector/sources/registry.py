"""From the ``source`` option to the class that makes the source, and to its options."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from headwater.connector.readable import readable
from headwater.connector.sources.built_in import BUILT_IN, built_in_factory, built_in_options
from headwater.connector.sources.configured import SourceFactory
from headwater.core.errors import OptionError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.connector.options import OptionTable
    from headwater.connector.sources.configured import ConfiguredSource
    from headwater.connector.sources.user_sources import SourceClass, UserSource
    from headwater.core.source import Boundedness

ENTRY_POINTS: Final = "headwater.sources"
"""The group of entry points under which packages offer sources."""


_ONLY_THERE: Final = {
    "stopAtRecord": "here what is behind a record may be acknowledged already, or comes as a new split: "
    "filter the rows (`where`), or write a source with `is_end`",
}
"""Why the other sources of headwater do not have an option, where people may expect it."""


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
        names = ", ".join(_known(_offered()))
        raise OptionError(f"is required: .option('source', ...) with one of {names}", option="source")
    own_name = name.lower()
    if own_name not in BUILT_IN:
        return _Chosen(name, _user_source(name))
    return _Chosen(own_name, _plugin(own_name) or built_in_factory(own_name))


@dataclass(frozen=True)
class _Chosen:
    """The factory of a source. An option that only others have is told with the sources that have it.

    Attributes:
        name: of the source, as the user writes it.
        factory: makes it.
    """

    name: str
    factory: SourceFactory

    def __call__(self, options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredSource:
        try:
            return self.factory(options, boundedness)
        except OptionError as error:
            # The tables of the others are loaded here only, where something is wrong anyway.
            key = error.option
            if key is not None and key in options and _table(self.name).spelling(key) is None:
                self._refuse_of_others(key)
            raise

    def _refuse_of_others(self, key: str) -> None:
        """Raise OptionError if an option that this source does not have is one of other sources."""
        spellings = {source: _table(source).spelling(key) for source in BUILT_IN}
        owners = [source for source, spelling in spellings.items() if spelling]
        if not owners:
            return
        message = f"is an option of {_listed(owners)}, not of {self.name}"
        why = _ONLY_THERE.get(spellings[owners[0]] or "")
        likely = why if why is not None and is_built_in(self.name) else _table(self.name).likely(key)
        raise OptionError(f"{message}; {likely}" if likely else message, option=spellings[owners[0]])


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"the sources {', '.join(others)} and {last}" if others else f"the source {last}"


def is_built_in(name: str) -> bool:
    """Whether a name is that of one of headwater's own sources."""
    return name.lower() in BUILT_IN


@readable
def options_of(source: SourceClass | str) -> OptionTable:
    """Return all options of a source.

    In a notebook it shows as a table; ``markdown()`` of it is the table for docs.

    Args:
        source: the value of ``.option("source", ...)``, or the class of a source: then its own options, and
            those that it has by its abilities.

    Raises:
        OptionError: there is no such source, or the class is not a source.
        ContractError: its ``OPTIONS`` are wrong.
    """
    if isinstance(source, str):
        return _table(source)
    from headwater.connector.sources.user_sources import options_of_class

    return options_of_class(source)


def _table(source: str) -> OptionTable:
    from headwater.connector.sources.user_sources import options_of_class

    own_name = source.lower()
    if own_name not in BUILT_IN:
        return options_of_class(_user_source(source).source)
    plugin = _plugin(own_name)
    return built_in_options(own_name) if plugin is None else options_of_class(plugin.source)


def _plugin(name: str) -> UserSource | None:
    """Return the source of a class on the floor of plugins; None for any other one."""
    row = BUILT_IN[name]
    return _imported(row.factory, row.factory) if row.is_plugin else None


def _user_source(name: str) -> UserSource:
    offered = _offered()
    target = next((value for offer, value in offered.items() if offer.lower() == name.lower()), name)
    if ":" not in target:
        names = _known(offered)
        near = nearest(name, names)
        hint = (
            f"did you mean {near!r}?"
            if near
            else f"known are {', '.join(names)}, and classes as package.module:Class"
        )
        raise OptionError(f"no source is called {name!r}; {hint}", option="source")
    return _imported(target, name)


def _offered() -> dict[str, str]:
    """Return the sources of installed packages: the classes by the names that users write."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def _known(offered: dict[str, str]) -> list[str]:
    return sorted({*BUILT_IN, *offered})


def _imported(target: str, name: str) -> UserSource:
    """Return the source of a class.

    Args:
        target: ``package.module:Class``.
        name: as the user wrote it.

    Raises:
        OptionError: it cannot be imported.
    """
    from headwater.connector.sources.user_sources import UserSource

    module, _, attribute = target.partition(":")
    # A package may have been installed since this process listed the folders of its path.
    invalidate_caches()
    try:
        target_class = attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise OptionError(
            f"{name!r} cannot be imported{'' if name == target else f' ({target})'}: {error}; the module "
            "must be installed where the driver and every executor find it. If it was installed since Spark "
            "started, start Spark again",
            option="source",
        ) from error
    return UserSource(target_class)
