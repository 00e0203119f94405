"""headwater's own sources with an enumerator of a user's before their reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headwater.core.options import Option


@dataclass(frozen=True, kw_only=True)
class ShippedSource:
    """One of headwater's own sources, which a class of a user's may go on from.

    A subclass has a ``name`` of its own and overrides ``create_enumerator`` and ``restore_enumerator``, and
    nothing else. There it may ask this class for the shipped enumerator, with the context or with one that
    stands before it. All options of the shipped source are its own, too; those that say which splits there
    are count for the shipped enumerator alone. The fields are made of these options, and may change from
    version to version.

    Its splits are the shipped ones, so their definitions, positions, reader and rows are, too. Its offsets
    are those of a source of another name.

    Attributes:
        options: a value for each of `OPTIONS`, by name.
    """

    shipped: ClassVar[str]
    """The name of the shipped source, which has its options and makes it."""

    OPTIONS: ClassVar[Sequence[Option[Any]]] = ()
    """The options of the subclass, beside those of the shipped source."""

    options: Mapping[str, Any] = field(default_factory=dict)
