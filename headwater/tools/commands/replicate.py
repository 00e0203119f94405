"""``headwater replicate URL --table T --into TARGET``: tables of PostgreSQL, kept up to date in a lake."""

from __future__ import annotations

import argparse
import os
import re
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from headwater.connector.readable import explain
from headwater.connector.sources.postgres.options import POSTGRES_OPTIONS
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import HeadwaterError, OptionError
from headwater.core.redaction import keep_secret
from headwater.core.secrets import is_elsewhere
from headwater.core.source import Boundedness
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.replica import examine_replicas
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.table import TableDescription
from headwater.tools.commands.checkpoint_folder import FolderError, open_folder
from headwater.tools.commands.peek import key_and_value
from headwater.tools.commands.replica_program import ReplicaCopy, ReplicaProgram
from headwater.tools.commands.replica_target import DELTA, ReplicaTarget
from headwater.tools.commands.slots import add_server, server_options

_LONGEST_NAME: Final = 63
_PASSWORD: Final = "PGPASSWORD"  # noqa: S105 - the name of a variable
_CREDENTIALS: Final = re.compile(r"(postgres(?:ql)?://)([^@/:]*):([^@/]*)@(.*)", re.DOTALL)
"""As libpq takes a URL apart: whatever stands before the first @."""
_FLAG: Final = ("set option createPublication=true", "--create-publication")
"""The name of an option in findings, and of the flag of this command."""
_INTERRUPTED: Final = 130
_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


def add_replicate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "replicate",
        help="keep tables of a lake as tables of PostgreSQL are: their rows, then every change",
        description="Looks whether the server gives the changes of tables, and says all that is missing, "
        "with the SQL for it. Writes a program that reads the rows and then every change, and applies them "
        "by MERGE to tables, which it makes if they are not there. Starts the program.",
        epilog="Exit status: 0 if the program was written, and ran to its end; 1 if something is missing, or "
        "the program failed; 2 for a mistake in this command line.",
    )
    add_server(parser)
    parser.add_argument(
        "--table",
        required=True,
        action="append",
        dest="tables",
        metavar="TABLE",
        help="the table, as SQL has it: public.orders; may be repeated: one query follows all of them",
    )
    parser.add_argument(
        "--into",
        required=True,
        metavar="TARGET",
        help="a path, such as /lake/orders or s3a://..., or a table of a catalogue, such as lake.orders; for "
        "several tables the folder or the schema, in which each has its name",
    )
    parser.add_argument("--using", default=DELTA, metavar="FORMAT", help="of a table that is made (delta)")
    parser.add_argument(
        "--slot",
        metavar="NAME",
        help="the replication slot (hw_ and the name of the table, or of the target)",
    )
    parser.add_argument("--publication", metavar="NAME", help="the publication (named as the slot)")
    parser.add_argument(
        "--create-publication", action="store_true", help="make the publication if it is not there"
    )
    parser.add_argument(
        "--program", type=Path, metavar="FILE", help="the program to write (replicate_NAME.py)"
    )
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        help="of the query's checkpoint and state, which driver and executors reach (beside the program)",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        type=key_and_value,
        metavar="KEY=VALUE",
        help="a setting of the program's Spark; may be repeated",
    )
    parser.add_argument("--write-only", action="store_true", help="write the program, and do not start it")
    parser.add_argument(
        "--available-now", action="store_true", help="read what is there, and end: for cron; else it goes on"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        options, hint = _source_options(arguments)
        program = _examined(arguments, options)
        if program is None:
            return 1
        file = _file(arguments)
        _write(file, program)
    except (FolderError, HeadwaterError, OSError) as error:
        sys.stderr.write(f"headwater replicate: {error}\n")
        return 1
    sys.stdout.write(f"{file} is the program; start it again with: python {file}\n{hint}")
    sys.stdout.flush()
    return 0 if arguments.write_only else _started(file, available_now=arguments.available_now)


def _source_options(arguments: argparse.Namespace) -> tuple[dict[str, str], str]:
    """Return the options of the source as the program has them, and a hint where a secret was left out."""
    options = server_options(arguments)
    secret = options.get("password")
    if credentials := _CREDENTIALS.match(options["url"]):
        options["url"] = "".join(credentials.group(1, 4))
        options.setdefault("username", unquote(credentials[2]))
        secret = secret or unquote(credentials[3])
    hint = ""
    if secret is not None and not is_elsewhere(secret):
        keep_secret(secret)
        os.environ[_PASSWORD] = secret
        secret = f"env:{_PASSWORD}"
        hint = f"the password is not in it: export {_PASSWORD}=... before you start it\n"
    if secret is not None:
        options["password"] = secret
    slot = arguments.slot or f"hw_{_name(arguments)}"[:_LONGEST_NAME]
    named = "table" if len(arguments.tables) == 1 else "tables"
    options |= {named: ",".join(arguments.tables), "slot": slot, "publication": arguments.publication or slot}
    if arguments.create_publication:
        options["createPublication"] = "true"
    return options | {"startingPosition": "initial", "stateLocation": f"{_folder(arguments)}/state"}, hint


def _name(arguments: argparse.Namespace) -> str:
    """Return the name of the table, or of the target of several, as a part of other names."""
    several = arguments.into.rstrip("/").rpartition("/")[2]
    name = arguments.tables[0] if len(arguments.tables) == 1 else several
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").removeprefix("public_")


def _file(arguments: argparse.Namespace) -> Path:
    file: Path = arguments.program or Path(f"replicate_{_name(arguments)}.py")
    return file


def _folder(arguments: argparse.Namespace) -> str:
    """Return where the query keeps its place, as the driver and the executors know it."""
    folder = arguments.folder or str(_file(arguments).with_suffix(""))
    return folder.rstrip("/") if "://" in folder else str(Path(folder).absolute())


def _examined(arguments: argparse.Namespace, options: Mapping[str, str]) -> str | None:
    """Return the program; None where something is missing, after naming it.

    Raises:
        HeadwaterError: an option makes no sense, the server is away or refuses, or has no such table.
        FolderError: the checkpoint cannot be looked at.
    """
    import pyspark

    target = ReplicaTarget(arguments.into, arguments.using, dict(arguments.conf))
    checkpoint = f"{_folder(arguments)}/checkpoint"
    parsed = POSTGRES_OPTIONS.parse(options, _STREAM)
    is_new = open_folder(checkpoint, {}, writes=False).read("metadata") is None
    with connect(parsed.of(PostgresSettings)) as connection:
        replicas, findings = examine_replicas(
            connection, arguments.tables, parsed.of(StreamSettings), is_new=is_new
        )
    tables = [each.table for each in replicas]
    targets = [target] if len(tables) == 1 else target.of_several([each.name for each in tables])
    findings += target.findings(pyspark.__version__)
    for each in findings:
        sys.stdout.write(f"not ok  {_in_two_lines(each, tables)}\n")
    if findings:
        sys.stdout.write(f"{len(findings)} missing: mend what stands above, then run this command again\n")
        return None
    for replica in replicas:
        sys.stdout.write(f"ok      {replica.table.full_name}, by its key {', '.join(replica.key)}\n")
    copies = [
        ReplicaCopy(
            table=replica.table.full_name,
            target=each,
            columns=_columns(options, replica.table),
            key=replica.key,
        )
        for replica, each in zip(replicas, targets, strict=True)
    ]
    program = ReplicaProgram(
        file=_file(arguments).name,
        copies=copies,
        into=arguments.into,
        options=options,
        checkpoint=checkpoint,
    )
    return program.text()


def _in_two_lines(finding: str, tables: Sequence[TableDescription]) -> str:
    """Return a finding, and its remedy below."""
    of_table = next((name for each in tables if finding.startswith(name := f"{each.full_name}: ")), "")
    problem, _, remedy = finding.removeprefix(of_table).replace(*_FLAG).partition(": ")
    return f"{of_table}{problem}\n        {remedy}"


def _columns(options: Mapping[str, str], table: TableDescription) -> dict[str, str]:
    """Return the types of the columns that the stream has of a table, in Spark's words. Asks the server."""
    from headwater.connector.sources.spark_schema import spark_schema
    from headwater.readers.postgres.change_rows import META

    of_one = {key.lower(): value for key, value in options.items() if key != "tables"}
    schema = source_factory(SOURCE)({**of_one, "table": table.sql}, _STREAM).schema()
    return {
        field.name: field.dataType.simpleString() for field in list(spark_schema(schema, SOURCE))[len(META) :]
    }


def _write(file: Path, text: str) -> None:
    """Write the program, or leave alone one that is the same.

    Raises:
        OptionError: there is another one of this name.
    """
    if file.exists() and file.read_text() != text:
        raise OptionError(
            f"{file} is there, says something else, and is left as it is: start it (python {file}), move "
            "it away, or write another one: --program FILE"
        )
    file.write_text(text)


def _started(file: Path, *, available_now: bool) -> int:
    """Run the program in this process, as Python would; return the exit status."""
    arguments = sys.argv
    sys.argv = [str(file), *(["--available-now"] if available_now else [])]
    try:
        runpy.run_path(str(file), run_name="__main__")
    except KeyboardInterrupt:
        sys.stderr.write(f"\nstopped; it goes on where it was: python {file}\n")
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - whatever Spark raises: its last line says what to do
        sys.stderr.write(f"headwater replicate: {file}: {explain(error)}\n")
        return 1
    finally:
        sys.argv = arguments
    return 0
