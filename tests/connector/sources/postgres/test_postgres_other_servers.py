"""Servers that are not as most are: of another version, or with ids of transactions that go round."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from local_postgres import WHEEL_VERSIONS, LocalPostgres
from tests.connector.sources.postgres.changes import changed_table
from tests.connector.sources.postgres.killing import Kill, KilledQuery

LAST_XID = 1 << 32
"""Behind it ids of 32 bits begin again."""
_XIDS_PER_SEGMENT = 1 << 20
_SEGMENT_BYTES = 1 << 18


@pytest.fixture
def at_the_end() -> Iterator[LocalPostgres]:
    """A server that has a few ids of transactions left before they go round."""
    with LocalPostgres() as server:
        with psycopg.connect(server.conninfo, autocommit=True) as sql:
            # Rows of earlier transactions would lie in the future.
            sql.execute("VACUUM FREEZE")
        server._run("pg_ctl", "stop", "-w", "-D", "data")
        server.stop()
        next_xid = LAST_XID - 60
        status = server._folder / f"data/pg_xact/{next_xid // _XIDS_PER_SEGMENT:04X}"
        status.write_bytes(bytes(_SEGMENT_BYTES))
        status.chmod(0o666)
        server._run("pg_resetwal", f"--next-transaction-id={next_xid}", "-D", "data")
        server.start()
        yield server


@pytest.mark.parametrize("transport", ["direct", "staged"])
def test_keys_are_right_where_ids_of_transactions_go_round_under_a_query(
    at_the_end: LocalPostgres, tmp_path: Path, rng: random.Random, transport: str
) -> None:
    kills = [Kill.LOGGED, Kill.COMMITTED, Kill.TASK_AFTER_NOTE]
    with KilledQuery(at_the_end, tmp_path, rng, kills, [240], transport=transport) as query:
        query.options["table"] = query.tables[0].name
        query.engine.run(crash_after=Step.LOGGED)
        query.write_and_run(12)
        query.tables[0].execute("".join("SELECT pg_current_xact_id();COMMIT;" for _ in range(60)))
        query.write_and_run(4)
        query.finish()
        xids = [row["_xid"] for row in query.engine.rows if row["_xid"] is not None]
    assert min(xids) < LAST_XID < max(xids)


@pytest.mark.parametrize("version", WHEEL_VERSIONS)
def test_other_versions_send_rows_then_changes_too(tmp_path: Path, version: int) -> None:
    """From 18 on a publication may have generated columns; before they are in no row."""
    options = {
        "createPublication": "false",
        "startingPosition": "initial",
        "transport": "staged",
        "stateLocation": str(tmp_path),
        "chunkRows": "10",
    }
    columns = "id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, s text"
    has_generated = version >= 18
    parameters = " WITH (publish_generated_columns = stored)" if has_generated else ""
    with (
        LocalPostgres(version=version) as server,
        changed_table(server, "other", columns, **options) as table,
    ):
        table.execute(
            f"CREATE PUBLICATION pub_other FOR TABLE other{parameters}",
            "INSERT INTO other SELECT generate_series(1, 35)",
        )
        assert table.engine.run(crash_after=Step.COMMITTED)
        table.execute("UPDATE other SET s = 'x' WHERE id > 30", "UPDATE other SET id = 100 WHERE id = 1")
        assert _last(table.rows()) == {
            number: 2 * number if has_generated else None for number in (*range(2, 36), 100)
        }
        several = {**table.options, "tables": "other", "slot": "slot_json", "startingPosition": "latest"}
        del several["table"]
        engine = MicroBatchEngine.of("postgres", several)
        engine.run()
        table.execute("INSERT INTO other VALUES (200)")
        engine.run()
        (row,) = engine.rows
        assert json.loads(row["after"]).get("twice") == ("400" if has_generated else None)


def _last(rows: list[dict[str, Any]]) -> dict[int, int | None]:
    """Return the generated column of each row that is left."""
    left: dict[int, int | None] = {}
    for row in rows:
        left[row["id"]] = row.get("twice")
        if row["_op"] == "d":
            del left[row["id"]]
    return left
