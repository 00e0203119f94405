"""The options of the hybrid source; those of its parts begin with the name of the part."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from headwater.connector.options import Option, OptionTable, duration_ms, names, text
from headwater.connector.planned.options import PLANNED_OPTIONS


def _parts(raw: str) -> tuple[str, ...]:
    found = names(raw)
    wrong = [name for name in found if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)]
    if len(found) < 2 or wrong or len({name.lower() for name in found}) < len(found):
        raise ValueError(f"must be two or more different names of letters, digits and _, not {raw!r}")
    return tuple(name.lower() for name in found)


def _time_us(raw: str) -> int:
    try:
        moment = datetime.fromisoformat(raw.strip())
    except ValueError:
        raise ValueError(f"must be a time such as 2024-05-01T12:00:00Z, not {raw!r}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


SOURCES: Final = Option(
    "sources",
    _parts,
    (),
    "The names of the parts, in the order in which they are read, such as `history,live`. Each has the "
    "options of its source with the name before them: `history.source=files`, `history.path`, `live.subscribe`.",
    required=True,
)
SEAM_COLUMN: Final = Option(
    "seamColumn",
    text,
    None,
    "The column of the type timestamp that decides, row by row, which part a row belongs to.",
)
SEAM_TIME: Final = Option(
    "seamTime",
    _time_us,
    None,
    "Rows before this time come from the parts before the last one, all others from the last one: a time such "
    "as `2024-05-01T12:00:00Z`.",
)
SEAM_DISORDER: Final = Option(
    "seamDisorder",
    duration_ms,
    3_600_000,
    "The last part begins so much earlier than `seamTime`: no row at or after that time may stand in a record "
    "whose own time is earlier by more.",
    shown_default="`1h`",
)

HYBRID_OPTIONS: Final = OptionTable((SOURCES, SEAM_COLUMN, SEAM_TIME, SEAM_DISORDER, *PLANNED_OPTIONS))
"""All options of the hybrid source, but for those of its parts."""
