"""``headwater doctor``: what is missing before a first query, each with the command that mends it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from headwater.tools.commands.doctor_checks import (
    Finding,
    check_broker,
    check_extras,
    check_java,
    check_kernel_cache,
    check_pyspark,
    check_python,
    check_spark_pythons,
    check_state_location,
    check_url,
)


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "doctor",
        help="say what is missing before a first query, and the command that mends it",
        description="Looks at the Python of the driver and the one that Spark starts, PySpark, Java, the "
        "extras and the compiled kernels; at a stateLocation, a broker or a URL where one is named. Starts "
        "no Spark.",
        epilog="Exit status: 0 if all is well, 1 if something has to be mended, 2 for a mistake in this "
        "command line.",
    )
    parser.add_argument("--state-location", metavar="URL", help="try a stateLocation: a folder, or s3://...")
    parser.add_argument(
        "--broker", metavar="HOST:PORT", help="ask a Kafka broker, without encryption or login"
    )
    parser.add_argument("--url", metavar="URL", help="ask a server of the http source")
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    is_well = True
    for finding in _findings(given):
        is_well = is_well and finding.mend is None
        mark = "ok    " if finding.mend is None else "not ok"
        sys.stdout.write(f"{mark}  {finding.subject}: {finding.said}\n")
        if finding.mend is not None:
            sys.stdout.write(f"        mend it: {finding.mend}\n")
        # A check may take a minute: what was found before is shown meanwhile.
        sys.stdout.flush()
    return 0 if is_well else 1


def _findings(given: argparse.Namespace) -> Iterator[Finding]:
    yield check_python()
    yield check_pyspark()
    yield from check_spark_pythons(os.environ)
    yield check_java(os.environ)
    yield from check_extras()
    yield check_kernel_cache()
    if given.state_location is not None:
        yield check_state_location(given.state_location)
    if given.broker is not None:
        yield check_broker(given.broker)
    if given.url is not None:
        yield check_url(given.url)
