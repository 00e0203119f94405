"""Fuzzes the kernels: ``python -m tests.formats.fuzz --values 100_000_000 --seed 7``.

A crash is the end of the process; the last line that it has printed says which round it was in, and
``--formats``, ``--seed`` and ``--round`` repeat that round alone.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import faulthandler
import resource
import secrets
import sys

from tests.formats.fuzz.guarded import guarded_modules
from tests.formats.fuzz.rounds import NAMES, Tally, check_round
from tests.readers.formats.scripted_registry import ScriptedRegistry

_MOST_MEMORY = 6 << 30
_ROUNDS_BETWEEN_REPORTS = 200


def main() -> int:
    """Run rounds of all formats in turn until there were enough values."""
    given = _arguments()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    faulthandler.enable()
    tallies = [Tally(name) for name in given.formats.split(",")]
    for tally in tallies:
        tally.rounds = given.round or 0
    # Not only values lie between forbidden pages, but all that kernels read and write.
    with guarded_modules(), contextlib.closing(ScriptedRegistry()) as registry:
        print(f"seed {given.seed}, {dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M}", flush=True)
        each = given.values / len(tallies)
        total = 0
        while open_ones := [tally for tally in tallies if tally.wants(each)]:
            for tally in open_ones:
                print(f"\r{tally.name} round {tally.rounds}        ", end="", flush=True)
                faulthandler.dump_traceback_later(given.patience, exit=True)
                check_round(tally, given.seed, registry, given.rows)
                faulthandler.cancel_dump_traceback_later()
            total += 1
            if total % _ROUNDS_BETWEEN_REPORTS == 0:
                _report(tallies)
            if given.round is not None:
                break
    _report(tallies)
    return 0


def _report(tallies: list[Tally]) -> None:
    print(f"\r{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%S}         ")
    for tally in tallies:
        print(tally)
    print(f"{'together':20} {sum(tally.values for tally in tallies):>13,} values", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.formats.fuzz", description=__doc__)
    parser.add_argument("--values", type=int, default=1_000_000, help="how many, of all formats together")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--formats", default=",".join(NAMES), help=f"of {', '.join(NAMES)}")
    parser.add_argument("--rows", type=int, default=20_000, help="how many values a batch has at the most")
    parser.add_argument("--round", type=int, help="run this one only")
    parser.add_argument("--patience", type=float, default=300, help="seconds after which a round hangs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
