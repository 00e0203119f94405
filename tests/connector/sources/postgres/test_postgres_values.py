"""A value is the same in a table that is read, in its stream of changes, and in the server's own text."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import psycopg

from headwater.core.source import Boundedness
from headwater.enumerators.postgres.connection import SESSION
from headwater.testing.engine import MicroBatchEngine, read_batch
from headwater.testing.making import configured
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table

INTEGERS = ("0", "1", "-1", "7", "-12345")
TEXTS = ("''", "'a'", "'grüß 😀'", "E'tab\\t \\\\ \\' \\n'", "' padded '")
VALUES: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "false"),
    "smallint": (*INTEGERS, "-32768", "32767"),
    "integer": (*INTEGERS, "-2147483648", "2147483647"),
    "bigint": (*INTEGERS, "-9223372036854775808", "9223372036854775807"),
    "real": ("0", "'-0'", "1.5", "3.4028235e38", "1e-45", "'NaN'", "'Infinity'", "0.1", "16777217"),
    "double precision": (
        "0",
        "'-0'",
        "0.1",
        "1e308",
        "5e-324",
        "'-Infinity'",
        "'NaN'",
        "123456789.123456789",
    ),
    "numeric": ("0", "1e50", "-0.00000000000000000001", "'NaN'", "'Infinity'", "12.3400"),
    "numeric(12,3)": ("0", "-0.001", "999999999.999", "12.5"),
    "numeric(38,10)": ("9999999999999999999999999999.9999999999", "-0.0000000001"),
    "numeric(3,-2)": ("12345", "-99900"),
    "numeric(2,4)": ("0.0012", "-0.0099"),
    "numeric(60,20)": ("1e39", "-1.00000000000000000001"),
    "text": TEXTS,
    "varchar(20)": TEXTS,
    "char(12)": TEXTS,
    '"char"': ("'x'", "''"),
    "name": ("'n'", "'some name'"),
    "bytea": ("''", "'\\x00ff'", "'\\xdeadbeef'"),
    "date": ("'0001-01-01'", "'9999-12-31'", "'2024-02-29'", "'1582-10-10'", "'1970-01-01'"),
    "timestamp": (
        "'0001-01-01'",
        "'9999-12-31 23:59:59.999999'",
        "'1969-12-31 23:59:59.5'",
        "'2024-02-29 12:00'",
    ),
    "timestamptz": ("'0001-01-02 00:00+00'", "'2024-03-31 01:30:00.000001+02'", "'1883-01-01 12:00+00'"),
    "timestamp(3)": ("'2024-02-29 12:00:00.1239'",),
    "time": ("'00:00'", "'24:00'", "'23:59:59.999999'"),
    "timetz": ("'12:00+05:30'",),
    "interval": ("'1 year -3 days 04:05:06.7'", "'-1 month'", "'0'"),
    "uuid": ("'00112233-4455-6677-8899-aabbccddeeff'",),
    "json": ("'{\"a\":  1}'", "'null'", "'[1, 2]'"),
    "jsonb": ('\'{"b":  1, "a": null}\'', "'\"ü\"'"),
    "jsonpath": ("'$.a[*]'",),
    "xml": ("'<a>1</a>'",),
    "money": ("12.34", "-0.01"),
    "inet": ("'10.0.0.1'", "'10.0.0.0/8'", "'::1'"),
    "cidr": ("'10.0.0.0/8'",),
    "macaddr": ("'08:00:2b:01:02:03'",),
    "macaddr8": ("'08:00:2b:01:02:03:04:05'",),
    "bit(4)": ("B'1010'",),
    "bit varying": ("B''", "B'101'"),
    "point": ("'(1,-2.5)'",),
    "line": ("'{1,2,3}'",),
    "lseg": ("'[(0,0),(1,1)]'",),
    "box": ("'(1,1),(0,0)'",),
    "path": ("'((0,0),(1,1))'",),
    "polygon": ("'((0,0),(1,1),(1,0))'",),
    "circle": ("'<(0,0),1.5>'",),
    "tsvector": ("'a fat cat'",),
    "tsquery": ("'fat & cat'",),
    "oid": ("0", "4294967295"),
    "xid8": ("'5000000000'",),
    "pg_lsn": ("'0/16B3748'",),
    "regclass": ("'pg_class'",),
    "int4range": ("'[1,5)'", "'empty'"),
    "nummultirange": ("'{[1,2),[3,4]}'",),
    "int[]": ("'{}'", "'{1,NULL,3}'", "'[2:3]={1,2}'"),
    "text[]": ('\'{"a b",NULL,""}\'',),
    "mood": ("'glad'", "'not so glad'"),
    "mood[]": ("'{glad,NULL}'",),
    "price": ("12.34", "-1"),
    "pair": ("'(1,\"x y\")'", "'(,)'"),
    "pair[]": ("'{\"(1,a)\"}'",),
}
TYPES = """
CREATE TYPE mood AS ENUM ('glad', 'not so glad');
CREATE DOMAIN price AS numeric(10,2);
CREATE TYPE pair AS (a int, b text);
"""


NAMES = [f"c{number}" for number in range(len(VALUES))]


def test_values_of_all_types_are_the_same_in_table_and_stream_and_as_the_server_writes_them(
    postgres: LocalPostgres, tmp_path: Path
) -> None:
    seed = int(os.environ.get("HEADWATER_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"HEADWATER_SEED={seed}")
    chance = random.Random(seed)
    with psycopg.connect(postgres.conninfo, autocommit=True) as sql:
        sql.execute(TYPES.encode())
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, VALUES, strict=True))
    with changed_table(postgres, "all_types", f"id int PRIMARY KEY, {columns}") as table:
        as_text = {"textColumns": ",".join(NAMES), "slot": "slot_all_texts"}
        texts = table.new_engine(**as_text)
        several = {name: value for name, value in table.options.items() if name != "table"}
        as_json = MicroBatchEngine.of("postgres", {**several, "tables": "all_types", "slot": "slot_all_json"})
        assert table.rows() == []
        texts.run()
        as_json.run()
        for number in range(60):
            drawn = ["NULL" if chance.random() < 0.2 else chance.choice(each) for each in VALUES.values()]
            table.execute(f"INSERT INTO all_types VALUES ({number}, {', '.join(drawn)})")
        texts.run()
        as_json.run()
        streamed = table.rows()
        assert _shown(streamed) == _shown(_read(table))
        assert (
            _shown(texts.rows) == _shown(_read(table, textColumns=as_text["textColumns"])) == _written(table)
        )
        read = configured(
            "postgres", {"url": table.options["url"], "tables": "all_types"}, Boundedness.BOUNDED
        )
        assert _shown(_after(as_json.rows)) == _shown(_after(read_batch(read))) == _written(table)
        chunks = {"startingPosition": "initial", "stateLocation": str(tmp_path), "chunkRows": "25"}
        initial = MicroBatchEngine.of(
            "postgres", {**several, **chunks, "tables": "all_types", "slot": "slot_all_chunks"}
        )
        initial.run()
        assert _shown(_after(initial.rows)) == _written(table)
        for slot in ("slot_all_texts", "slot_all_json", "slot_all_chunks"):
            table.execute(f"SELECT pg_drop_replication_slot('{slot}')")


def _after(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of several tables as they are after the change, by the number of their key."""
    after = [json.loads(row["after"]) for row in rows]
    return [{**row, "id": int(row["id"])} for row in after]


def _read(table: ChangedTable, **options: str) -> list[dict[str, Any]]:
    """Return the rows of the table as a batch reads them."""
    chosen = {"url": table.options["url"], "table": table.name, **options}
    return read_batch(configured("postgres", chosen, Boundedness.BOUNDED))


def _shown(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return values as text, which tells -0.0 from 0.0, and in which a NaN equals itself."""
    return [[repr(row[name]) for name in NAMES] for row in sorted(rows, key=lambda row: row["id"])]


def _written(table: ChangedTable) -> list[list[str]]:
    """Return the server's own text of each value."""
    for name, value in SESSION.items():
        table.execute(f"SET {name} = '{value}'")
    result = table.sql.pgconn.exec_(f"SELECT {', '.join(NAMES)} FROM {table.name} ORDER BY id".encode())
    values = [[result.get_value(row, at) for at in range(len(NAMES))] for row in range(result.ntuples)]
    return [[repr(None if each is None else each.decode()) for each in row] for row in values]
