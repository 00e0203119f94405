"""Where a process sets up no logging, warnings have time and level; elsewhere nothing changes."""

from __future__ import annotations

import logging
import re
import subprocess
import sys

from headwater.connector.spark.process_log import show_log

PROGRAM = """
import logging
{set_up}
from headwater.connector.spark.process_log import show_log
show_log()
show_log()
logging.getLogger("headwater.readers").warning("skipped")
logging.getLogger("headwater.readers").info("nobody asks")
"""


def said(set_up: str) -> str:
    program = PROGRAM.format(set_up=set_up)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stderr


def test_a_warning_comes_once_with_time_and_level() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \S+ WARNING headwater\.readers: skipped\n", said(""))


def test_what_the_program_has_set_up_stays() -> None:
    assert said("logging.basicConfig(format='%(message)s!')") == "skipped!\n"
    assert said("logging.getLogger('headwater').addHandler(logging.NullHandler())") == ""


def test_it_adds_nothing_beside_the_handlers_of_a_test() -> None:
    before = list(logging.getLogger("headwater").handlers)
    show_log()
    assert logging.getLogger("headwater").handlers == before
