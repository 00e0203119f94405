"""``headwater slots URL``: the replication slots of a PostgreSQL server, and the WAL that they keep."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from typing import Final

from headwater.connector.sources.postgres.options import POSTGRES_OPTIONS
from headwater.core.errors import HeadwaterError
from headwater.core.options import WHERE_SECRETS_ARE
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.slots import SlotUse, all_slots, drop_slot
from headwater.tools.commands.text_table import text_table

_COLUMNS: Final = ("slot", "database", "kind", "status", "WAL kept", "until lost", "read by")
_WIDEST_CELL: Final = 80


def add_slots(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "slots",
        help="show the replication slots of a PostgreSQL server, the WAL that each keeps, and who reads it",
        description="Lists the slots of all databases of a server: how many bytes of WAL each keeps, how "
        "many may still be written before it is lost, and who reads it. A query of headwater reads its slot "
        "only while a batch or a look for changes runs: stop the query before its slot is dropped.",
        epilog="Exit status: 0 if no slot is lost, or the slot was dropped; 1 if one is lost, or it could "
        "not be done; 2 for a mistake in this command line.",
    )
    add_server(parser)
    parser.add_argument("--drop", metavar="NAME", help="drop this slot; refused while somebody reads it")
    parser.set_defaults(run=_run)


def add_server(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how a server is reached."""
    parser.add_argument(
        "url",
        metavar="URL",
        help="postgresql://host:port/database, or as libpq has it: 'host=... dbname=...'; without a password",
    )
    parser.add_argument("--username", metavar="ROLE", help="the role, where the URL has none")
    parser.add_argument("--password", metavar="WHERE", help=f"of the role. {WHERE_SECRETS_ARE}")


def server_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the options of the source that the arguments of `add_server` are."""
    options = {"url": arguments.url, "username": arguments.username, "password": arguments.password}
    return {name: value for name, value in options.items() if value is not None}


def _run(arguments: argparse.Namespace) -> int:
    is_well = True
    try:
        settings = POSTGRES_OPTIONS.parse(server_options(arguments), None).of(PostgresSettings)
        with connect(settings) as connection:
            if arguments.drop is not None:
                drop_slot(connection, arguments.drop)
                sys.stdout.write(f"dropped {arguments.drop}\n")
                return 0
            slots = all_slots(connection)
    except HeadwaterError as error:
        sys.stderr.write(f"headwater slots: {error}\n")
        return 1
    for line in shown_slots(slots):
        sys.stdout.write(f"{line}\n")
    for slot in slots:
        if slot.is_lost:
            is_well = False
            sys.stdout.write(f"\n{_way_out(slot, arguments.url)}\n")
    return 0 if is_well else 1


def shown_slots(slots: list[SlotUse]) -> Iterator[str]:
    """Yield the lines that a user reads: one for each slot."""
    if not slots:
        yield "no slots"
        return
    yield from text_table(_COLUMNS, [_row(each) for each in slots], widest_cell=_WIDEST_CELL)


def _row(slot: SlotUse) -> tuple[str, ...]:
    since = f"nobody since {slot.inactive_since}" if slot.inactive_since else "nobody"
    wal = "none" if slot.kept_bytes is None else f"{slot.kept_bytes:,} bytes"
    safe = "any amount" if slot.safe_bytes is None else f"{slot.safe_bytes:,} bytes"
    return (
        slot.name,
        slot.database or "",
        slot.plugin or "physical",
        slot.wal_status or "not used yet",
        wal,
        "lost" if slot.is_lost else safe,
        slot.reader or since,
    )


def _way_out(slot: SlotUse, url: str) -> str:
    return (
        f"{slot.name} is lost: the server has removed WAL that its reader did not have. A query that reads "
        "it ends with LostSlotError. Start the query with option onSlotLost=resync: it makes the slot anew, "
        "and reads all rows of the table again. Or start it with a new checkpointLocation and a new slot, "
        "with startingPosition=initial where the target shall be made anew; then: "
        f"headwater slots {shlex.quote(url)} --drop {slot.name}"
    )
