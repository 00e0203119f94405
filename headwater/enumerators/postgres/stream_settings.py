"""The user's settings of a stream of changes."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from headwater.core.options import Spec, boolean, one_of, option
from headwater.core.source import Boundedness

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
_SLOT: Final = re.compile(r"[a-z0-9_]{1,63}")


class StartingPosition(StrEnum):
    """Where a query without a checkpoint begins."""

    LATEST = "latest"
    SLOT = "slot"
    INITIAL = "initial"


class Reaction(StrEnum):
    """The reaction where rows cannot be as they were, or are not all that there is."""

    FAIL = "fail"
    IGNORE = "ignore"
    EMIT = "emit"
    MARK = "mark"
    RESCUE = "rescue"
    RESYNC = "resync"


class SlotTransport(StrEnum):
    """The way of changes from the server to tasks."""

    DIRECT = "direct"
    STAGED = "staged"


class ChangeColumns(StrEnum):
    """How the columns are named that describe a change."""

    HEADWATER = "headwater"
    SPARK = "spark"


def _slot(raw: str) -> str:
    if not _SLOT.fullmatch(raw):
        raise ValueError("must be up to 63 lower-case letters, digits and _, as the server has it for slots")
    return raw


def _name(raw: str) -> str:
    if not raw.strip():
        raise ValueError("must not be empty")
    return raw


class StreamSettings(Spec):
    """Which changes a query reads, and the form of its rows. Picklable."""

    slot: str = option(
        "slot",
        "Required for a stream: the replication slot, for this query alone; made if it is not there.",
        default="",
        parse=_slot,
        only=_STREAM,
        shown_default="",
        needed_in=(_STREAM,),
    )
    publication: str = option(
        "publication",
        "Required for a stream: the publication that has the table. Its row filters and column lists count.",
        default="",
        parse=_name,
        only=_STREAM,
        shown_default="",
        needed_in=(_STREAM,),
    )
    creates_publication: bool = option(
        "createPublication",
        "Whether a publication that is not there is made, for this table.",
        default=False,
        parse=boolean,
        only=_STREAM,
    )
    starting_position: StartingPosition = option(
        "startingPosition",
        "Where a query without a checkpoint begins: `latest`, with what is committed from now on; `slot`, "
        "with what the slot has kept; or `initial`, with all rows that are there, then every later change.",
        default=StartingPosition.LATEST,
        parse=one_of(*StartingPosition),
        only=_STREAM,
        shown_default="`latest`",
    )
    transport: SlotTransport = option(
        "transport",
        "How changes come to tasks: `direct`, each task reads its range from the slot; or `staged`, the "
        "driver reads the slot without a pause into files in `stateLocation`, and tasks read these.",
        default=SlotTransport.DIRECT,
        parse=one_of(*SlotTransport),
        only=_STREAM,
        shown_default="`direct`",
    )
    change_columns: ChangeColumns = option(
        "changeColumns",
        "How changes are described: `headwater` (`_op`, `_lsn`, `_commit_ts`), or `spark`, as the changelogs "
        "of Spark name it (`_change_type`, `_commit_version`, `_commit_timestamp`).",
        default=ChangeColumns.HEADWATER,
        parse=one_of(*ChangeColumns),
        only=_STREAM,
        shown_default="`headwater`",
    )
    includes_before: bool = option(
        "includeBefore",
        "Whether there is a column `before` with the row as it was, as far as the server logs it.",
        default=False,
        parse=boolean,
        only=_STREAM,
    )
    on_truncate: Reaction = option(
        "onTruncate",
        "What a TRUNCATE of the table becomes: `emit`, a row with `_op` = `t`, or `fail`.",
        default=Reaction.EMIT,
        parse=one_of(Reaction.EMIT, Reaction.FAIL),
        only=_STREAM,
        shown_default="`emit`",
    )
    on_toast: Reaction = option(
        "onToast",
        "What becomes of a large value that an update did not touch, so that the server does not send it: "
        "`mark`, NULL and its name in `_unchanged`, or `fail`, which demands REPLICA IDENTITY FULL.",
        default=Reaction.MARK,
        parse=one_of(Reaction.MARK, Reaction.FAIL),
        only=_STREAM,
        shown_default="`mark`",
    )
    on_schema_change: Reaction = option(
        "onSchemaChange",
        "What happens when the table has a column that the query does not have: `fail`, and a restart reads "
        "it; `ignore`, go on without it, and with NULL in columns that are lost; or `rescue`, the same, with "
        "new columns as JSON in the column `_rescued_data`. Changed types fail.",
        default=Reaction.FAIL,
        parse=one_of(Reaction.FAIL, Reaction.IGNORE, Reaction.RESCUE),
        only=_STREAM,
        shown_default="`fail`",
    )
    on_slot_lost: Reaction = option(
        "onSlotLost",
        "What happens when the slot has lost the log from the position on: `fail`; or `resync`, a new slot, "
        "and all rows of the tables again, with `_sync` one higher (needs `stateLocation`).",
        default=Reaction.FAIL,
        parse=one_of(Reaction.FAIL, Reaction.RESYNC),
        only=_STREAM,
        shown_default="`fail`",
    )

    @property
    def resyncs(self) -> bool:
        """Whether the tables are read again where the slot is lost."""
        return self.on_slot_lost is Reaction.RESYNC
