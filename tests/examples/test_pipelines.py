"""Declarative Pipelines run with headwater's sources: the examples, as ``spark-pipelines`` runs them."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyspark
import pytest
from pyarrow import parquet

from local_kafka import LocalKafka
from local_postgres import LocalPostgres
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
MEMORY = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
HISTORY = "lake.{database}.customers_history ORDER BY id, __START_AT"
TYPES = (1,) if pyspark.__version__.startswith("4.2.") else (1, 2)
"""The types of slowly changing dimensions that AUTO CDC of this Spark has."""
QUERIES = (
    "SELECT id, name FROM lake.{database}.customers ORDER BY id",
    f"SELECT id, name, __START_AT IS NULL, __END_AT IS NULL FROM {HISTORY}",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.heavy("each run of a pipeline is a program, which a JVM starts"),
]


def copied(example: str, folder: Path, replaced: Mapping[str, str]) -> Path:
    """Return a copy of an example's folder with other places."""
    project = folder / example
    shutil.copytree(EXAMPLES / example, project)
    texts = [project / "spark-pipeline.yml", *project.glob("transformations/*.py")]
    for old, new in replaced.items():
        assert any(old in file.read_text() for file in texts), old
        for file in texts:
            file.write_text(file.read_text().replace(old, new))
    return project


def copied_auto_cdc(example: str, folder: Path, replaced: Mapping[str, str]) -> Path:
    """The same for AUTO CDC, with the types that this Spark has, and a database of the example's own."""
    without_type_2 = {} if 2 in TYPES else {'follow("customers_history", 2)\n': ""}
    return copied(example, folder, {**replaced, **without_type_2, "database: shop": f"database: {example}"})


def of_types(now: list[list[Any]], history: list[list[Any]]) -> list[list[list[Any]]]:
    """Return the answers that are expected: the history only where this Spark has it."""
    return [now, history][: len(TYPES)]


def run_pipeline(project: Path, *options: str, conf: Mapping[str, Any] | None = None) -> None:
    """Run ``spark-pipelines run`` in a project."""
    settings = project / "conf"
    settings.mkdir(exist_ok=True)
    lines = (f"{name} {value}\n" for name, value in (conf or {}).items())
    (settings / "spark-defaults.conf").write_text("".join(lines))
    home = Path(pyspark.__file__).parent
    ran = subprocess.run(
        [str(home / "bin" / "spark-pipelines"), "run", *options],
        cwd=project,
        env={**os.environ, "SPARK_CONF_DIR": str(settings), "SPARK_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-6_000:]


def rows_of(tables: Path, table: str) -> list[tuple[Any, ...]]:
    files = parquet.read_table(tables / table).to_pylist()
    return sorted((tuple(row.values()) for row in files), key=repr)


@pytest.fixture
def typed_rows(kafka: LocalKafka, topic: str, tmp_path: Path) -> Path:
    """A copy of the example that reads the test's topic and folder, with records and a file in them."""
    kafka.create_topic(topic, 2)
    kafka.produce(topic, [b'{"product":"tea","quantity":3}', b'{"product":"ink","quantity":0}', b"{"])
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "1.json").write_text('{"product":"tea","quantity":1}\n')
    places = {
        "localhost:9092": kafka.bootstrap_servers,
        "/tmp/headwater-pipeline": str(tmp_path),
        '.option("subscribe", "orders")': f'.option("subscribe", "{topic}")',
    }
    return copied("pipeline_typed_rows", tmp_path, places)


@pytest.fixture
def database(spark: SparkSession, topic: str) -> Iterator[str]:
    """A database of the test's own."""
    name = topic.replace("-", "_")
    spark.sql(f"CREATE DATABASE {name}")
    yield name
    spark.sql(f"DROP DATABASE {name} CASCADE")


def test_typed_rows_and_files_become_tables_and_views_and_a_second_run_adds_what_is_new(
    typed_rows: Path,
    spark: SparkSession,
    spark_connect: str,
    kafka: LocalKafka,
    *,
    topic: str,
    database: str,
    tmp_path: Path,
) -> None:
    spec = typed_rows / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("database: default", f"database: {database}"))
    warehouse = spark.conf.get("spark.sql.warehouse.dir")
    assert warehouse is not None
    tables = Path(warehouse.removeprefix("file:"), f"{database}.db")
    run = functools.partial(run_pipeline, typed_rows, "--remote", spark_connect)
    check_two_runs(run, tmp_path / "inbox", tables, functools.partial(kafka.produce, topic))


@pytest.mark.long
@pytest.mark.usefixtures("spark_connect_port")
def test_the_tables_of_a_run_are_found_by_the_next_spark_in_a_metastore(
    typed_rows: Path, spark_conf: dict[str, Any], kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    # In the folder of the project.
    conf = spark_conf | {"spark.sql.warehouse.dir": str(tables), "spark.sql.catalogImplementation": "hive"}
    run = functools.partial(run_pipeline, typed_rows, conf=conf)
    check_two_runs(run, tmp_path / "inbox", tables, functools.partial(kafka.produce, topic))


def check_two_runs(
    run: Callable[[], None], inbox: Path, tables: Path, produce: Callable[..., object]
) -> None:
    run()
    assert [row[:3] for row in rows_of(tables, "bad_orders")] == [("ink", 0, None), (None, None, "{")]
    assert rows_of(tables, "balance") == [("tea", 2)]
    produce([b'{"product":"ink","quantity":5}'])
    (inbox / "2.json").write_text('{"product":"ink","quantity":2}\n')
    run()
    assert rows_of(tables, "balance") == [("ink", 3), ("tea", 2)]
    assert len(rows_of(tables, "orders")) == 4


def test_changes_of_debezium_become_slowly_changing_dimensions_of_both_types(
    spark_connect: str, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    kafka.create_topic(topic, 2)
    produce_changes(kafka, topic, [("c", None, (1, "Anne")), ("c", None, (2, "Ben"))])
    project = copied_auto_cdc(
        "pipeline_auto_cdc",
        tmp_path,
        {
            "localhost:9092": kafka.bootstrap_servers,
            "shop.public.customers": topic,
            "/tmp/headwater-auto-cdc": str(tmp_path),
        },
    )
    with steps_of(project, spark_connect, tmp_path) as ask:
        assert ask() == of_types(
            [[1, "Anne"], [2, "Ben"]], [[1, "Anne", False, True], [2, "Ben", False, True]]
        )
        produce_changes(kafka, topic, [("u", (1, "Anne"), (1, "Anna")), ("d", (2, "Ben"), None)])
        assert ask() == of_types(
            [[1, "Anna"]],
            [[1, "Anne", False, False], [1, "Anna", False, True], [2, "Ben", False, False]],
        )


def test_a_table_of_postgresql_becomes_slowly_changing_dimensions_of_both_types(
    spark_connect: str, postgres: LocalPostgres, topic: str, tmp_path: Path
) -> None:
    name = topic.replace("-", "_")[-50:].lstrip("_")
    project = copied_auto_cdc(
        "pipeline_postgres",
        tmp_path,
        {
            "/tmp/headwater-postgres": str(tmp_path),
            "public.customers": name,
            "hw_customers": name,
            "postgresql://localhost/shop": postgres.conninfo,
        },
    )
    with psycopg.connect(postgres.conninfo, autocommit=True) as shop:
        shop.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, name text)")
        shop.execute(f"INSERT INTO {name} VALUES (1, 'Anne'), (2, 'Ben')")
        with steps_of(project, spark_connect, tmp_path) as ask:
            assert ask() == of_types(
                [[1, "Anne"], [2, "Ben"]], [[1, "Anne", False, True], [2, "Ben", False, True]]
            )
            # Of two changes in one transaction the later one counts, and both are in the history.
            with shop.transaction():
                shop.execute(f"UPDATE {name} SET name = 'Ann' WHERE id = 1")
                shop.execute(f"UPDATE {name} SET name = 'Anna' WHERE id = 1")
                shop.execute(f"DELETE FROM {name} WHERE id = 2")
            assert ask() == of_types(
                [[1, "Anna"]],
                [
                    [1, "Anne", False, False],
                    [1, "Ann", False, False],
                    [1, "Anna", False, True],
                    [2, "Ben", False, False],
                ],
            )
        for kind in TYPES:
            shop.execute("SELECT pg_drop_replication_slot(%s)", [f"{name}_{kind}"])
        shop.execute(f"DROP PUBLICATION {name}")
        shop.execute(f"DROP TABLE {name}")


@contextmanager
def steps_of(project: Path, remote: str, folder: Path) -> Iterator[Callable[[], Any]]:
    """Lend a function that runs a pipeline once more, in one session, and returns the answers."""
    job = {
        "spec": str(project / "spark-pipeline.yml"),
        "remote": remote,
        "conf": {"spark.sql.catalog.lake": MEMORY},
        "queries": [query.format(database=project.name) for query in QUERIES[: len(TYPES)]],
    }
    log = folder / "steps.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("pipeline_steps.py")), json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as steps,
    ):
        try:
            yield functools.partial(asked, steps, log)
        finally:
            steps.kill()


def asked(steps: subprocess.Popen[str], log: Path) -> Any:
    """Run the pipeline once more; return the answers."""
    assert steps.stdin is not None
    assert steps.stdout is not None
    steps.stdin.write("\n")
    steps.stdin.flush()
    for line in steps.stdout:
        if line.startswith("answer "):
            return json.loads(line.removeprefix("answer "))
    raise AssertionError(log.read_text()[-6_000:])


def produce_changes(kafka: LocalKafka, topic: str, changes: Iterable[tuple[str, Any, Any]]) -> None:
    """Produce events as Debezium does: by key, and a tombstone behind a delete."""
    for op, before, after in changes:
        key = json.dumps({"id": (after or before)[0]}).encode()
        rows = {"before": before, "after": after}
        images = {name: row and dict(zip(("id", "name"), row, strict=True)) for name, row in rows.items()}
        values: list[bytes | None] = [json.dumps({**images, "op": op, "ts_ms": 1, "source": {}}).encode()]
        if op == "d":
            values.append(None)
        kafka.produce(topic, values, keys=[key] * len(values))
