"""Tables of PostgreSQL as worlds for the suites, with two writers at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import psycopg

from examples.postgres_source import add_order, create_orders

_numbers = itertools.count()


def order_table(conninfo: str) -> Mapping[str, str]:
    """Make a table with rows of several transactions; return the options that read it."""
    table = f"orders_{next(_numbers)}"
    create_orders(conninfo, table)
    with psycopg.connect(conninfo, autocommit=True) as database:
        for number in range(5):
            add_order(database, f"item {number}", table)
        with database.transaction():
            for number in range(3):
                add_order(database, f"together {number}", table)
    return {"conninfo": conninfo, "table": table}


def late_order(options: Mapping[str, str]) -> Iterator[None]:
    """Take a key, let another transaction take the next one and commit, and commit at last."""
    with psycopg.connect(options["conninfo"]) as slow, psycopg.connect(options["conninfo"]) as fast:
        add_order(slow, "slow", options["table"])
        yield
        add_order(fast, "fast", options["table"])
        fast.commit()
        yield
        slow.commit()
