"""FLIP-27 sources for Apache Spark: the public names. ``import headwater as hw``.

Reading needs no import at all: ``spark.readStream.format("headwater").option("source", "kafka")`` works as
soon as headwater is installed on the driver and on every executor.

The names that most programs need are here; the rest is in seven modules that are public too:

* `headwater.async_io`: kinds of functions, settings and metrics of asynchronous I/O;
* `headwater.contracts`: the contracts of FLIP-27 in their full form;
* `headwater.errors`: all errors;
* `headwater.options`: how a source declares its options;
* `headwater.read` and `headwater.read_stream`: the built-in sources as typed functions;
* `headwater.testing`: conformance suites for sources.

The floors below, from the ground up: `core`, `enumerators`, `readers`, `connector`, `tools` (docs/design.md).
Beside them, `plugins` are sources that use these public names alone.

Each name is loaded when it is first used. Spark imports this package in every Python process that it starts,
and such a process must load only the modules of its step (``tests/test_cold_start.py``).
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater import async_io, contracts, errors, options, read, read_stream, testing
    from headwater.connector.async_io.wait import keyed_wait, ordered_wait, split_failures, unordered_wait
    from headwater.connector.changes.apply import apply_changes
    from headwater.connector.changes.one_table import changes_of
    from headwater.connector.formats.row_decoding import decode
    from headwater.connector.readable import explain, install_excepthook
    from headwater.connector.sources.registry import options_of
    from headwater.connector.spark.lag import QueryLag
    from headwater.connector.spark.lag_listener import LagListener
    from headwater.connector.spark.register import register
    from headwater.connector.spark.session import (
        configure,
        recommended_conf,
        recommended_environment,
        session,
    )
    from headwater.core.abilities import (
        Acknowledges,
        EndsAtRecords,
        EstimatesSizes,
        FindsTimestamps,
        Forgets,
        Heads,
        InfersSchema,
        OrdersSplits,
        PushesFilters,
        ReadsAhead,
        Retires,
    )
    from headwater.core.errors import HeadwaterError, TransientSourceError
    from headwater.core.metrics import count
    from headwater.core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource
    from headwater.tools.monitoring.board import Board
    from headwater.tools.monitoring.metrics_export import export_metrics

__version__ = "0.1.0"

__all__ = [
    "Acknowledges",
    "AskAgain",
    "Board",
    "EndsAtRecords",
    "EstimatesSizes",
    "FindsTimestamps",
    "Finished",
    "Forgets",
    "Heads",
    "HeadwaterError",
    "InfersSchema",
    "LagListener",
    "NamedSplit",
    "OrdersSplits",
    "Page",
    "PushesFilters",
    "QueryLag",
    "ReadsAhead",
    "Retires",
    "SimpleSource",
    "TransientSourceError",
    "__version__",
    "apply_changes",
    "async_io",
    "changes_of",
    "configure",
    "contracts",
    "count",
    "decode",
    "errors",
    "explain",
    "export_metrics",
    "install_excepthook",
    "keyed_wait",
    "options",
    "options_of",
    "ordered_wait",
    "read",
    "read_stream",
    "recommended_conf",
    "recommended_environment",
    "register",
    "session",
    "split_failures",
    "testing",
    "unordered_wait",
]

_MODULES = ("async_io", "contracts", "errors", "options", "read", "read_stream", "testing")
_HOMES = {
    "headwater.connector.async_io.wait": ("keyed_wait", "ordered_wait", "split_failures", "unordered_wait"),
    "headwater.connector.changes.apply": ("apply_changes",),
    "headwater.connector.changes.one_table": ("changes_of",),
    "headwater.connector.formats.row_decoding": ("decode",),
    "headwater.tools.monitoring.board": ("Board",),
    "headwater.tools.monitoring.metrics_export": ("export_metrics",),
    "headwater.connector.sources.registry": ("options_of",),
    "headwater.connector.spark.lag": ("QueryLag",),
    "headwater.connector.spark.lag_listener": ("LagListener",),
    "headwater.connector.readable": ("explain", "install_excepthook"),
    "headwater.connector.spark.register": ("register",),
    "headwater.connector.spark.session": (
        "configure",
        "recommended_conf",
        "recommended_environment",
        "session",
    ),
    "headwater.core.abilities": (
        "Acknowledges",
        "EndsAtRecords",
        "EstimatesSizes",
        "FindsTimestamps",
        "Forgets",
        "Heads",
        "InfersSchema",
        "OrdersSplits",
        "PushesFilters",
        "ReadsAhead",
        "Retires",
    ),
    "headwater.core.errors": ("HeadwaterError", "TransientSourceError"),
    "headwater.core.metrics": ("count",),
    "headwater.core.simple_source": ("AskAgain", "Finished", "NamedSplit", "Page", "SimpleSource"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # with it, type checkers would accept any name

    def __getattr__(name: str) -> object:
        """Load a public name on first use (PEP 562). Python calls it in any thread, once for each name."""
        if name in _MODULES:
            return importlib.import_module(f"headwater.{name}")
        if name not in _HOME_OF:
            raise _unknown(name)
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
        globals()[name] = value
        _check_python()
        return value


def __dir__() -> list[str]:
    """Return the public names: what the module imports for itself would show at a prompt otherwise."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


def _unknown(name: str) -> AttributeError:
    """Return the error of a name that is not here: where it is, or a similar name."""
    from headwater.core.errors import unknown_attribute

    if not name.startswith("_"):
        modules = {module: importlib.import_module(f"headwater.{module}") for module in _MODULES}
        homes = [f"hw.{module}.{name}" for module, content in modules.items() if name in content.__all__]
        if homes:
            return AttributeError(
                f"module {__name__!r} has no attribute {name!r}: it is {' or '.join(homes)}"
            )
    return unknown_attribute(__name__, name, __all__)


def _check_python() -> None:
    """Warn once if the Spark that runs here starts another Python than this one. Starts nothing itself.

    When this package is imported, and when a name of it is first used: by then the session has been made. Not
    in a worker, a planner or a source runner: none of them has a Spark of its own.
    """
    context = sys.modules.get("pyspark.core.context")
    # It has no public reader.
    if context is not None and context.SparkContext._active_spark_context is not None:  # noqa: SLF001
        importlib.import_module("headwater.connector.spark.pythons").warn_of_other_python()


_check_python()
