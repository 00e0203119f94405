"""Changes that a slot has kept, read until none is left: by a stream into a noop sink, and by peers.

The table of 8 columns has 40 % inserts, 40 % updates and 20 % deletes, that of 600 bytes inserts; both in
transactions of 100. Each reading has a copy of a slot that was made before the changes.
"""

from __future__ import annotations

from benchmarks.postgres_bench import PostgresBench
from benchmarks.postgres_peers import Peer
from benchmarks.postgres_stream import FILL, TABLE
from benchmarks.side_by_side import Subject

BASE = "base"
FILL_WIDE = """
DO $$ BEGIN
FOR t IN 0 .. %s LOOP
    INSERT INTO wide_load SELECT g, now(), repeat(md5(g::text), 18)
    FROM generate_series(t * 100, t * 100 + 99) g;
    COMMIT;
END LOOP; END $$
"""
LOADS = {
    "load": ("8 columns", TABLE, FILL),
    "wide_load": (
        "rows of 600 bytes",
        "CREATE TABLE wide_load (id bigint PRIMARY KEY, at timestamptz, pad text)",
        FILL_WIDE,
    ),
}


def compare_changes(bench: PostgresBench, changes: int) -> None:
    """Print the rates of reading the changes of each of `LOADS`."""
    for table, (title, create, fill) in LOADS.items():
        bench.run(
            create,
            f"CREATE PUBLICATION {table} FOR TABLE {table}",
            f"SELECT pg_create_logical_replication_slot('{BASE}', 'pgoutput')",
            fill % (changes // 100 - 1),
        )
        rows = changes // 100 * 100
        print(f"{title}, {rows:,} changes")
        subjects: dict[str, Subject] = {
            f"headwater, {transport}": bench.stream(
                table, rows, BASE, startingPosition="slot", transport=transport
            )
            for transport in ("direct", "staged")
        }
        subjects |= bench.peers_read(Peer.changes, table, rows, BASE)
        bench.compare(subjects, rows)
        bench.run(f"SELECT pg_drop_replication_slot('{BASE}')")
