"""What the options say about columns that files have and the schema has not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from headwater.readers.files.schema_history import SchemaHistory

EvolutionMode: TypeAlias = Literal["addNewColumns", "rescue", "fail", "none"]
"""What becomes of new columns.

``addNewColumns``: the query stops, and has them after a restart. ``rescue``: they are in the column for
rescued data. ``fail``: the query stops, until the user has changed the schema. ``none``: they are not read,
and are rescued only if there is a column for that.
"""

EVOLUTION_MODES: Final[tuple[EvolutionMode, ...]] = ("addNewColumns", "rescue", "fail", "none")

RESCUED_COLUMN: Final = "_rescued_data"
"""What the column for rescued data is called if the user gives no name."""

RESCUE_FORMATS: Final = frozenset({"arrow", "avro", "csv", "feather", "json", "orc", "parquet"})
"""The formats with a column for rescued data."""

OWN_SCHEMA_FORMATS: Final = frozenset({"arrow", "avro", "feather", "orc", "parquet"})
"""The formats whose files tell their columns."""


@dataclass(frozen=True, kw_only=True)
class DriftSettings:
    """What becomes of columns that are new.

    Attributes:
        mode: see `EvolutionMode`.
        history: where the schema is kept, None if it is not. With ``addNewColumns`` it is.
        name: what the user calls it.
        hides_rescued: whether the column for rescued data is not one of the rows: it is made to find new
            columns in text, and taken away.
    """

    mode: EvolutionMode = "none"
    history: SchemaHistory | None = field(default=None, repr=False)
    name: str | None = None
    hides_rescued: bool = False

    @property
    def stops(self) -> bool:
        """Whether a new column stops the query."""
        return self.mode in ("addNewColumns", "fail")
