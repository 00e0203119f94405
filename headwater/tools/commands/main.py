"""The command line ``headwater``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from headwater.tools.commands.board import add_board
from headwater.tools.commands.checkpoint_edits import add_edits
from headwater.tools.commands.checkpoint_names import add_name
from headwater.tools.commands.checkpoint_views import add_views
from headwater.tools.commands.compile_kernels import add_compile
from headwater.tools.commands.convert import add_convert
from headwater.tools.commands.doctor import add_doctor
from headwater.tools.commands.new_source import add_new_source
from headwater.tools.commands.peek import add_peek
from headwater.tools.commands.replicate import add_replicate
from headwater.tools.commands.slots import add_slots
from headwater.tools.commands.trial.try_query import add_try


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``headwater``; return its exit status."""
    parser = argparse.ArgumentParser(
        "headwater", description="Streaming sources for Apache Spark, in Python."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_board(commands)
    add_compile(commands)
    add_doctor(commands)
    add_new_source(commands)
    add_peek(commands)
    add_replicate(commands)
    add_slots(commands)
    add_try(commands)
    checkpoint = commands.add_parser("checkpoint", help="work on the checkpoint of a query")
    views = checkpoint.add_subparsers(required=True, metavar="COMMAND")
    add_views(views)
    add_edits(views)
    add_convert(views)
    add_name(views)
    namespace = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = namespace.run
    try:
        return run(namespace)
    except BrokenPipeError:
        # Whoever read the output has seen enough: `| head`. What is still to be flushed goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
