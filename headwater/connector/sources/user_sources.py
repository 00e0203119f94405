"""From a class that a user wrote to a source that Spark reads."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, cast, runtime_checkable

from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.program_arguments import misfit
from headwater.connector.sources.built_in import built_in_factory, built_in_options
from headwater.connector.sources.configured import (
    ConfiguredBarrierSource,
    ConfiguredPlannedSource,
    ConfiguredSource,
)
from headwater.connector.sources.shipped import ShippedSource
from headwater.core.abilities import FindsTimestamps, Forgets, Heads, PushesFilters, ReadsAhead
from headwater.core.barrier_source import BarrierSource
from headwater.core.errors import OptionError
from headwater.core.options import Option
from headwater.core.outside import outside
from headwater.core.planned_source import PlannedSource
from headwater.core.retry import Backoff
from headwater.core.simple_source import SimpleSource
from headwater.core.source import Boundedness
from headwater.readers.runtime.staging.staged_source import StagedSource

if TYPE_CHECKING:
    from typing import Self


@runtime_checkable
class FromOptions(Protocol):
    """The members by which a class of the full form is made by name, beside its contract."""

    OPTIONS: ClassVar[Sequence[Option[Any]]]
    """Its options. Those of its mode (limits or barriers) are added."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any], boundedness: Boundedness | None) -> Self:
        """Make the source: settings only, opens nothing.

        Args:
            options: a value for every option, by name.
            boundedness: a batch or a stream; None if only the schema will be asked for.
        """


SourceClass: TypeAlias = (
    type[SimpleSource] | type[PlannedSource[Any, Any, Any]] | type[BarrierSource[Any, Any]]
)
"""A class in the small form, or one in the full form (with `FromOptions`) of either mode."""

_FORMS: Final = (SimpleSource, PlannedSource, BarrierSource)


def options_of_class(source: SourceClass) -> OptionTable:
    """Return all options of a user's source: its own, and those that it has by its abilities.

    Raises:
        OptionError: the class is no source.
        ContractError: its ``OPTIONS`` are wrong.
    """
    from headwater.connector.sources.source_options import option_table

    _check_class(source)
    own = cast("Any", source).OPTIONS
    if issubclass(source, ShippedSource):
        from headwater.connector.sources.source_options import with_own

        return with_own(own, built_in_options(source.shipped), source.__name__)
    if issubclass(source, SimpleSource):
        return option_table(
            own,
            source.__name__,
            is_planned=_has(source, Heads),
            is_simple=True,
            timestamps=_has(source, FindsTimestamps),
            filters=_has(source, PushesFilters),
            forgets=_has(source, Forgets),
            reads_ahead=_has(source, ReadsAhead),
            formats=source.decodes,
            decodes=source.decoding is not SimpleSource.decoding,
        )
    return option_table(
        own,
        source.__name__,
        is_planned=issubclass(source, PlannedSource),
        is_staged=issubclass(source, StagedSource),
    )


@dataclass(frozen=True)
class UserSource:
    """The factory of a user's class (`headwater.connector.sources.configured.SourceFactory`)."""

    source: SourceClass

    def __call__(self, options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredSource:
        """Make the source from the user's options. Opens nothing.

        Raises:
            OptionError: an option is unknown, malformed, missing or of the other mode; or the class is no
                source.
            StateLocationError: ``stateLocation`` has no atomic put-if-absent.
        """
        from headwater.connector.sources.source_options import (
            IDLE_TIMEOUT,
            PUSH_FILTERS,
            RECEIVER_IDLE_TIMEOUT,
            RETRY_DEADLINE,
        )

        table = options_of_class(self.source)
        if issubclass(self.source, ShippedSource):
            return self._shipped(options, boundedness)
        parsed = table.parse(options, boundedness)
        source = self._make(parsed, boundedness)
        backoff = Backoff(deadline_ms=parsed[RETRY_DEADLINE])
        # A source that takes no filters does not have this option.
        push_filters = parsed.get(PUSH_FILTERS)
        if isinstance(source, BarrierSource):
            from headwater.connector.barrier.options import epoch_settings

            epochs = epoch_settings(parsed, boundedness, source=source.name)
            if isinstance(source, StagedSource):
                _check_importable(self.source, boundedness)
                source = replace(
                    source,
                    mode=boundedness or Boundedness.BOUNDED,
                    store=epochs.store,
                    idle_ms=parsed[IDLE_TIMEOUT],
                    backoff=backoff,
                    receiver_idle_ms=parsed[RECEIVER_IDLE_TIMEOUT],
                )
            return ConfiguredBarrierSource(
                source=source,
                epochs=epochs,
                backoff=backoff,
                push_filters=push_filters,
            )
        from headwater.connector.planned.event_time_options import watched_column
        from headwater.connector.planned.options import planning_hints, read_limits

        return ConfiguredPlannedSource(
            source=source,
            limits=read_limits(parsed),
            hints=planning_hints(parsed, may_end=source.end_condition is not None),
            watched=watched_column(parsed),
            backoff=backoff,
            push_filters=push_filters,
        )

    def _shipped(self, options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredSource:
        """Make the shipped source, and of it the user's."""
        kind = cast("type[ShippedSource]", self.source)
        own = OptionTable(kind.OPTIONS)
        theirs = {key: value for key, value in options.items() if own.spelling(key) is None}
        values = own.parse({key: options[key] for key in options.keys() - theirs}, boundedness)
        configured = built_in_factory(kind.shipped)(theirs, boundedness)
        # An object of the class that the user wrote, with the fields of the shipped one.
        settings = {each.name: getattr(configured.source, each.name) for each in fields(cast("Any", kind))}
        made = kind(**{**settings, "options": values.by_name()})
        return replace(configured, source=cast("Any", made))

    def _make(
        self, parsed: ParsedOptions, boundedness: Boundedness | None
    ) -> PlannedSource[Any, Any, Any] | BarrierSource[Any, Any]:
        with outside(self.source.__name__, source=self.source.name):
            if not issubclass(self.source, SimpleSource):
                # It has `from_options`: `_check_class` has looked.
                source = cast("type[FromOptions]", self.source)
                return source.from_options(parsed.by_name(), boundedness)  # type: ignore[return-value]
            user = self.source(parsed.by_name())
        from headwater.connector.sources.full_form import full_form

        return full_form(user, parsed, boundedness or Boundedness.BOUNDED)


def _has(source: type, ability: type) -> bool:
    """Whether the objects of a class have an ability. `isinstance` would need such an object."""
    methods: frozenset[str] = ability.__abstractmethods__  # type: ignore[attr-defined]
    return all(callable(getattr(source, name, None)) for name in methods)


def is_importable(source: type) -> bool:
    """Whether a class can be pickled by its name. Spark pickles those of a notebook by value."""
    return "<locals>" not in source.__qualname__ and source.__module__ != "__main__"


def _check_importable(source: type, boundedness: Boundedness | None) -> None:
    """Refuse a stream of staged rows whose receiver, a process of its own, could not be told the class.

    Raises:
        OptionError: it has no name by which others can import it.
    """
    if boundedness is Boundedness.CONTINUOUS_UNBOUNDED and not is_importable(source):
        raise OptionError(
            f"a stream of {source.__name__} needs the class in a module that driver and executors can import "
            "(an installed package, or a folder in PYTHONPATH): a process of its own receives for it",
            option="source",
        )


def _check_class(source: object) -> None:
    if not isinstance(source, type) or not issubclass(source, _FORMS):
        expected = "a subclass of hw.SimpleSource, hw.contracts.PlannedSource or hw.contracts.BarrierSource"
        hint = ": give the class itself" if isinstance(source, _FORMS) else ""
        raise misfit("source", expected, source, hint)
    if not isinstance(getattr(source, "name", None), str) or not source.name:
        raise OptionError(f"the class {source.__name__} needs a name: name = 'my-source'", option="source")
    if issubclass(source, ShippedSource):
        if source.name == source.shipped:
            raise OptionError(
                f"the class {source.__name__} needs a name of its own, not {source.shipped!r}: its offsets "
                "are not those of the shipped source",
                option="source",
            )
        return
    if not issubclass(source, SimpleSource) and not (
        hasattr(source, "OPTIONS") and hasattr(source, "from_options")
    ):
        raise OptionError(
            f"the class {source.__name__} needs OPTIONS and a classmethod from_options: see "
            "hw.contracts.FromOptions",
            option="source",
        )
    if inspect.isabstract(source):
        missing = ", ".join(sorted(source.__abstractmethods__))
        raise OptionError(
            f"the class {source.__name__} does not have all methods of its contract: {missing} is missing",
            option="source",
        )
