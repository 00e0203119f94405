"""``headwater compile``: compiles the kernels, before the first query on a host has to."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Mapping
from typing import Final

from headwater.core.errors import MissingDependencyError
from headwater.core.imports import importing
from headwater.readers.kernels.cache import cache_folder

_MODULES: Final[Mapping[str, str]] = {
    "kafka": "headwater.readers.kafka.record_set",
    "json": "headwater.readers.formats.json.json_decoder",
    "json-files": "headwater.readers.formats.json.documents",
    "json-schemas": "headwater.readers.formats.json.shape_inference",
    "csv": "headwater.readers.formats.csv.csv_decoder",
    "csv-types": "headwater.readers.formats.csv.type_inference",
    "lines": "headwater.readers.formats.lines.lines",
    "avro": "headwater.readers.formats.avro.decoder",
    "protobuf": "headwater.readers.formats.protobuf.decoder",
    "postgres": "headwater.readers.postgres.copy_stream",
    "postgres-values": "headwater.readers.postgres.binary_values",
    "postgres-changes": "headwater.readers.postgres.wal_chunk",
}
"""By its records: the module that has a ``KERNEL``."""


def add_compile(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "compile",
        help="compile what decodes records, before the first query on this host does",
        description="Compiles what decodes records of Kafka and values in formats, and keeps it for the "
        "queries of this user on this host. What is there already is not compiled again.",
    )
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help=f"of {', '.join(_MODULES)}; without any, all of them"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    unknown = [name for name in arguments.what if name not in _MODULES]
    if unknown:
        return _refused(f"there is no {unknown[0]!r}, but {', '.join(_MODULES)}")
    folder = cache_folder()
    if folder is None:
        return _refused("there is no folder that could keep it: set XDG_CACHE_HOME to one of your own")
    try:
        for name in arguments.what or _MODULES:
            began = time.perf_counter()
            _load(name)
            sys.stdout.write(f"{name}: ready in {folder} after {time.perf_counter() - began:.1f} s\n")
    except MissingDependencyError as error:
        return _refused(str(error))
    return 0


def _refused(reason: str) -> int:
    sys.stderr.write(f"headwater compile: {reason}\n")
    return 1


def _load(name: str) -> None:
    with importing(f"headwater compile {name}", extra="kafka" if name == "kafka" else "formats"):
        module = importlib.import_module(_MODULES[name])
    module.KERNEL.load()
