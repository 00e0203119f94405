"""What a user of Spark sees when something is wrong: our message, once, with names, numbers and what to do.

Never a secret.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.query import StreamingQuery

from headwater.core.errors import AuthenticationError, HeadwaterError
from headwater.core.source import Boundedness
from local_kafka import LocalKafka
from local_kafka_config import free_port
from tests.connector.sources.kafka.kafka_queries import Query, batch_and_tasks, configure, values
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[4]
SECRET = "correct-horse-battery-staple"
USERS = {"ann": SECRET, "bob": f"{SECRET}-too"}


class Queries:
    """Reads with Spark from one broker, as options say; underscores in names stand for dots."""

    def __init__(self, spark: SparkSession, bootstrap_servers: str, folder: Path) -> None:
        self._spark = spark
        self._out = str(folder / "out")
        self._checkpoint = str(folder / "checkpoint")
        self._always = {"source": "kafka", "kafka.bootstrap.servers": bootstrap_servers}

    def load(self, how: str = "batch", /, *, schema: str | None = None, **options: str) -> DataFrame:
        reader: Any = (self._spark.readStream if how == "stream" else self._spark.read).format("headwater")
        for name, value in {
            **self._always,
            **{name.replace("_", "."): value for name, value in options.items()},
        }.items():
            reader = reader.option(name, value)
        loaded: DataFrame = reader.schema(schema).load() if schema else reader.load()
        return loaded

    def batch(self, **options: Any) -> list[Any]:
        return self.load(**options).collect()

    def stream(self, **options: Any) -> StreamingQuery:
        """Run a stream over what there is, always from the same checkpoint into the same files."""
        loaded = self.load("stream", **options).selectExpr("CAST(value AS STRING)")
        writer = (
            loaded.writeStream.format("parquet")
            .option("path", self._out)
            .option("checkpointLocation", self._checkpoint)
        )
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    def written(self) -> list[str]:
        return sorted(row.value for row in self._spark.read.parquet(self._out).collect())


@pytest.fixture
def queries(spark: SparkSession, kafka: LocalKafka, tmp_path: Path) -> Queries:
    return Queries(spark, kafka.bootstrap_servers, tmp_path)


@pytest.fixture(scope="module")
def locked() -> Iterator[LocalKafka]:
    """A broker with passwords and permissions."""
    with LocalKafka(users=USERS, authorize=True) as running:
        yield running


def complaint(action: Callable[[], object]) -> str:
    """Return what the user sees: the kind of our error, which must be there once, and its line below."""
    with pytest.raises(PySparkException) as caught:
        action()
    seen = str(caught.value)
    assert SECRET not in seen
    ours = re.findall(r"^headwater\.core\.errors\.(\w+): \nheadwater: (.*)$", seen, re.MULTILINE)
    assert len(ours) == 1, seen
    assert "another exception occurred" not in seen
    return ": ".join(ours[0])


class TestOptions:
    @pytest.mark.parametrize("how", ["batch", "stream"])
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"subscribe": "t", "startingOffset": "earliest"},
                "option 'startingoffset': is not an option of this source; did you mean 'startingOffsets'?",
            ),
            (
                {"subscribe": "t", "startingOffsets": '{"t":'},
                "option 'startingOffsets': is not valid JSON: Expecting value: line 1 column 6 (char 5)",
            ),
            (
                {"subscribe": "t", "kafka_auto_offset_reset": "latest"},
                "option 'kafka.auto.offset.reset': is refused: where to start is said once",
            ),
            (
                {},
                (
                    "option 'subscribe': exactly one of subscribe, subscribePattern and assign must be "
                    "given; none is"
                ),
            ),
        ],
    )
    def test_what_is_wrong_already_when_it_is_loaded(
        self, queries: Queries, options: dict[str, str], message: str, how: str
    ) -> None:
        assert complaint(lambda: queries.load(how, **options)).startswith(f"OptionError: {message}")

    def test_a_batchs_option_in_a_stream(self, queries: Queries) -> None:
        assert complaint(lambda: queries.stream(subscribe="t", endingOffsets="latest")) == (
            "OptionError: option 'endingOffsets': is only for a batch read (spark.read); a stream has no "
            "end: remove it"
        )

    @pytest.mark.parametrize("how", ["batch", "stream"])
    def test_a_schema_of_the_users_own(self, queries: Queries, how: str) -> None:
        assert complaint(lambda: getattr(queries, how)(subscribe="t", schema="value STRING")) == (
            "OptionError: the source 'kafka' has the fixed schema key binary, value binary, topic string, "
            "partition int, offset bigint, timestamp timestamp, timestampType int; remove .schema(...), "
            "which says value string, and select, rename or cast after load(); NOT NULL columns are not "
            "possible"
        )

    @pytest.mark.parametrize("how", ["batch", "stream"])
    def test_a_topic_that_does_not_exist(self, queries: Queries, how: str) -> None:
        assert complaint(
            lambda: getattr(queries, how)(subscribe="nope", fetchOffset_retryIntervalMs="10")
        ) == (
            "UnknownSplitError: topic 'nope' does not exist in the Kafka cluster, or this user may not see "
            "it: create it, or mend subscribe or assign [source kafka]"
        )

    def test_partitions_that_are_not_named(self, queries: Queries, kafka: LocalKafka, topic: str) -> None:
        kafka.create_topic(topic, 2)
        assert complaint(
            lambda: queries.batch(subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":0}}}}')
        ) == (
            "OptionError: option 'startingOffsets': must name every partition that is read; missing: "
            f"{topic}-1 (-2 is earliest, -1 latest)"
        )

    @pytest.mark.parametrize("how", ["batch", "stream"])
    def test_no_broker_is_not_waited_for_for_ever(
        self, spark: SparkSession, tmp_path: Path, how: str
    ) -> None:
        nowhere = f"127.0.0.1:{free_port()}"
        queries = Queries(spark, nowhere, tmp_path)
        assert complaint(
            lambda: getattr(queries, how)(subscribe="t", kafka_default_api_timeout_ms="500")
        ) == (
            "SourceError: the Kafka cluster has not answered since the query started: connecting to the "
            f"Kafka broker {nowhere}: nothing listens there; see kafka.bootstrap.servers, and "
            "advertised.listeners of the broker [source kafka]"
        )


class TestRecordsThatAreGone:
    @pytest.fixture
    def cut(self, kafka: LocalKafka, topic: str) -> str:
        """A topic of 20 records of which the first 10 are deleted."""
        kafka.create_topic(topic)
        kafka.produce(topic, [b"%d" % i for i in range(20)])
        kafka.delete_records(topic, {0: 10})
        return topic

    def test_in_a_batch(self, queries: Queries, cut: str) -> None:
        options = {"subscribe": cut, "startingOffsets": f'{{"{cut}":{{"0":3}}}}'}
        assert complaint(lambda: queries.batch(**options)) == (
            f"DataLossError: topic '{cut}', partition 0, offsets 3 to 9 were lost: the log now begins at "
            "offset 10: retention or an administrator removed them. Set failOnDataLoss=false to go on with "
            f"what is there [source kafka, split {cut}-0, position 3]"
        )
        assert sorted(row.offset for row in queries.batch(**options, failOnDataLoss="false")) == list(
            range(10, 20)
        )

    def test_in_a_stream_whose_failed_batch_is_then_read_without_them(
        self, queries: Queries, cut: str
    ) -> None:
        options = {"subscribe": cut, "startingOffsets": f'{{"{cut}":{{"0":3}}}}'}
        assert complaint(lambda: queries.stream(**options)).startswith(
            f"DataLossError: topic '{cut}', partition 0, offsets 3 to 9 were lost"
        )
        queries.stream(**options, failOnDataLoss="false")
        queries.stream(**options)
        assert queries.written() == [str(i) for i in range(10, 20)]

    def test_a_topic_created_anew_between_two_runs(
        self, queries: Queries, kafka: LocalKafka, topic: str
    ) -> None:
        kafka.create_topic(topic, 2)
        kafka.produce(topic, [b"old"] * 4)
        options = {"subscribe": topic, "startingOffsets": "earliest"}
        queries.stream(**options)
        kafka.delete_topic(topic)
        kafka.create_topic(topic, 1)
        kafka.produce(topic, [b"new"] * 30)
        seen = complaint(lambda: queries.stream(**options))
        assert re.match(
            f"DataLossError: topic '{topic}', partition 0, offset 2: the topic was deleted and created anew ",
            seen,
        )
        assert seen.endswith(
            f"or start with a new checkpointLocation [source kafka, split {topic}-0, position 2]"
        )
        queries.stream(**options, fetchOffset_retryIntervalMs="10", failOnDataLoss="false")
        assert queries.written() == ["new"] * 30 + ["old"] * 4


class TestBytesThatChanged:
    def test_a_flipped_byte_fails_its_checksum(self, queries: Queries, kafka: LocalKafka, topic: str) -> None:
        kafka.create_topic(topic)
        kafka.produce(topic, [b"good"])
        kafka.produce(topic, [b"needle", b"behind"])
        change(kafka, topic, b"needle", b"noodle")
        seen = complaint(lambda: queries.batch(subscribe=topic))
        assert seen.startswith("CorruptRecordError: the record batch at offset 1 ")
        assert "checksum" in seen
        assert seen.endswith(f"[source kafka, split {topic}-0, position 1]")
        trusting = queries.batch(subscribe=topic, kafka_check_crcs="false")
        assert [bytes(row.value) for row in trusting] == [b"good", b"noodle", b"behind"]

    def test_a_batch_that_does_not_need_the_damaged_part_is_read(
        self, queries: Queries, kafka: LocalKafka, topic: str
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce(topic, [b"good"])
        kafka.produce(topic, [b"needle"])
        change(kafka, topic, b"needle", b"noodle")
        rows = queries.batch(subscribe=topic, endingOffsets=f'{{"{topic}":{{"0":1}}}}')
        assert [bytes(row.value) for row in rows] == [b"good"]


class TestPermissions:
    @pytest.fixture
    def as_ann(self, spark: SparkSession, locked: LocalKafka, tmp_path: Path) -> Queries:
        return Queries(spark, locked.bootstrap("SASL_PLAINTEXT"), tmp_path)

    @staticmethod
    def credentials(password: str = SECRET) -> dict[str, str]:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "kafka_security_protocol": "SASL_PLAINTEXT",
            "kafka_sasl_mechanism": "PLAIN",
            "kafka_sasl_jaas_config": f'{module} required username="ann" password="{password}";',
        }

    def test_a_wrong_password(self, as_ann: Queries) -> None:
        assert re.fullmatch(
            r"AuthenticationError: PLAIN log-in to the Kafka broker localhost:\d+ as 'ann' failed: "
            r"Authentication failed: Invalid username or password; see kafka\.sasl\.jaas\.config \[source "
            r"kafka\]",
            complaint(lambda: as_ann.batch(subscribe="t", **self.credentials(f"not-{SECRET}"))).replace(
                "127.0.0.1", "localhost"
            ),
        )

    def test_what_the_driver_lacks_and_what_the_tasks_lack(
        self, as_ann: Queries, locked: LocalKafka, topic: str
    ) -> None:
        locked.create_topic(topic)
        locked.produce(topic, [b"x"])
        assert complaint(lambda: as_ann.batch(subscribe=topic, **self.credentials())) == (
            f"AuthorizationError: metadata of topic '{topic}': the broker answered "
            f"TOPIC_AUTHORIZATION_FAILED (29): this user lacks the permission Describe on topic '{topic}'. "
            "Grant it: kafka-acls.sh --add --allow-principal User:<this user> --operation Describe --topic "
            f"{topic} [source kafka]"
        )
        locked.allow("ann", "DESCRIBE", topic=topic)
        assert complaint(
            lambda: as_ann.stream(subscribe=topic, startingOffsets="earliest", **self.credentials())
        ) == (
            f"AuthorizationError: fetching from topic '{topic}': the broker answered "
            f"TOPIC_AUTHORIZATION_FAILED (29): this user lacks the permission Read on topic '{topic}'. "
            "Grant it: kafka-acls.sh --add --allow-principal User:<this user> --operation Read --topic "
            f"{topic} [source kafka, split {topic}-0, position 0]"
        )
        locked.allow("ann", "READ", topic=topic)
        as_ann.stream(subscribe=topic, startingOffsets="earliest", **self.credentials())
        assert as_ann.written() == ["x"]

    def test_no_secret_is_in_plans_offsets_or_progress(
        self,
        as_ann: Queries,
        locked: LocalKafka,
        topic: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        locked.create_topic(topic)
        locked.produce(topic, [b"x"])
        for permission in ("DESCRIBE", "READ"):
            locked.allow("ann", permission, topic=topic)
        options = {"subscribe": topic, "startingOffsets": "earliest", **self.credentials()}
        as_ann.load("batch", **options).explain(extended=True)
        query = as_ann.stream(**options)
        query.explain(extended=True)
        assert as_ann.written() == ["x"]
        written = [
            file.read_bytes().decode(errors="replace") for file in tmp_path.rglob("*") if file.is_file()
        ]
        assert any('"positions"' in text for text in written)
        seen = [
            capsys.readouterr().out,
            json.dumps(query.recentProgress, default=str),
            str(query.status),
            *written,
        ]
        assert [text for text in seen if SECRET in text] == []

    def test_nor_in_logs_however_detailed_nor_in_what_travels_to_a_task(
        self, locked: LocalKafka, topic: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        locked.create_topic(topic)
        locked.produce(topic, [b"x"])
        for permission in ("DESCRIBE", "READ"):
            locked.allow("ann", permission, topic=topic)
        servers = locked.bootstrap("SASL_PLAINTEXT")
        options = {"subscribe": topic, **self.credentials()}
        with caplog.at_level(logging.DEBUG):
            rows, tasks = batch_and_tasks(servers, **options)
            refusing = Query(
                servers, discovery_interval_ms=0, subscribe=topic, **self.credentials(f"not-{SECRET}")
            )
            with refusing, pytest.raises(AuthenticationError) as refused:
                refusing.step()
        assert values(rows) == [b"x"]
        configured = configure(
            {
                "kafka.bootstrap.servers": servers,
                **{name.replace("_", "."): value for name, value in options.items()},
            },
            None,
        )
        seen = [
            caplog.text,
            str(refused.value),
            repr(refused.value),
            repr(configured),
            str(configured.source),
        ]
        assert [text for text in seen if SECRET in text] == []
        assert SECRET.encode() not in pickle.dumps([InputPartition(task) for task in tasks])
        assert SECRET.encode() in pickle.dumps(configured.source), "the executors log in, too"

    @pytest.mark.parametrize(
        "options",
        [
            {"kafka.sasl.jaas.config": f'some.Module required password="{SECRET}'},
            {
                "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule "
                f'required username="a" password="{SECRET}";'
            },
            {"kafka.sasl.username": "ann", "kafka.sasl.password": SECRET, "kafka.sasl.mechanism": "GSSAPI"},
            {
                "kafka.ssl.keystore.key": f"-----BEGIN PRIVATE KEY-----{SECRET}",
                "kafka.ssl.keystore.type": "PEM",
            },
            {"kafka.ssl.keystore.password": SECRET},
        ],
    )
    def test_nor_in_complaints_about_it(self, options: dict[str, str]) -> None:
        given = {
            "kafka.bootstrap.servers": "b:1",
            "subscribe": "t",
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            **options,
        }
        with pytest.raises(HeadwaterError) as caught:
            configure(given, Boundedness.BOUNDED)
        assert SECRET not in f"{caught.value!r} {caught.value}"


SITE = """
import sys

class WithoutALibrary:
    def find_spec(self, name, path=None, target=None):
        contexts = sys.modules.get("pyspark.taskcontext")
        if contexts and contexts.TaskContext.get() and name == open({file!r}).read():
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, WithoutALibrary())
"""

DRIVER = """
import json, sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
seen = {}
for library in ("numba", "kafka"):
    open(sys.argv[2], "w").write(library)
    reader = spark.read.format("headwater").option("source", "kafka").option("subscribe", sys.argv[4])
    try:
        reader.option("kafka.bootstrap.servers", sys.argv[3]).load().collect()
    except Exception as error:
        seen[library] = str(error)
print(json.dumps(seen))
"""


@pytest.mark.slow
def test_an_executor_without_a_library_names_the_line_that_installs_it(
    kafka: LocalKafka, topic: str, spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    """The driver and Spark's planner have it. No kernel was compiled on this host, so numba is needed."""
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"])
    library = tmp_path / "library"
    driver = tmp_path / "driver.py"
    library.touch()
    (tmp_path / "sitecustomize.py").write_text(SITE.format(file=str(library)))
    driver.write_text(DRIVER)
    arguments = [
        json.dumps(spark_conf),
        str(library),
        kafka.bootstrap_servers,
        topic,
    ]
    path = f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}"
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(driver), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert not done.returncode, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    for name in ("numba", "kafka"):
        assert seen[name].count("headwater.core.errors.") == 1, seen[name]
        told = (
            rf"headwater: the kafka source needs {name}, which is not installed in (\S+)\. Install it with: "
            r"\1 -m pip install 'headwater\[kafka\]'\. Driver and every executor need it"
        )
        assert re.search(told, seen[name]), seen[name]


def change(kafka: LocalKafka, topic: str, old: bytes, new: bytes) -> None:
    """Damage a stored batch: the broker sends what it finds on its disk."""
    (stored,) = (kafka.folder / "broker-1" / "data" / f"{topic}-0").glob("*.log")
    data = stored.read_bytes()
    assert data.count(old) == 1
    with stored.open("r+b") as file:
        file.seek(data.index(old))
        file.write(new)
