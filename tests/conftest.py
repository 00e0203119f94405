"""What tests share: one real broker, one real Spark, fresh topics, and a seed that is printed."""

from __future__ import annotations

import fcntl
import gc
import itertools
import os
import random
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

import headwater as hw
from headwater.core import redaction
from local_kafka import LocalKafka
from local_kafka_config import free_port
from local_postgres import LocalPostgres
from local_registry import LocalRegistry
from spark_archive import jars, jvm_options
from tests.installing import Distributions, build, install

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyspark.sql import SparkSession

    from tests.s3_server import S3Server

pytest_plugins = ["tests.cpu_seconds", "tests.kafka_sockets", "tests.workers"]

ROOT = Path(__file__).resolve().parent.parent
SEED = int(os.environ.get("HEADWATER_SEED") or secrets.randbelow(1_000_000))
os.environ["HEADWATER_SEED"] = str(SEED)  # workers have the same one
HEAP_MB = 1024

# Spark's Python processes import what this one does, from where it does, and have the same clock.
os.environ.update(
    dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable) | hw.recommended_environment()
)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["SPARK_SUBMIT_OPTS"] = jvm_options()  # of every program that starts a Spark
os.environ["TZ"] = "UTC"
time.tzset()

hypothesis.settings.register_profile(
    "headwater",
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # on a busy machine, drawing takes long
)
hypothesis.settings.load_profile("headwater")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests that are marked as long, too")
    parser.addoption("--ask-spark", action="store_true", help="store what Spark answers to tests of parity")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is collected out of searches for garbage: it stays, and would take most of their time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.long:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> str:
    return f"seed: {SEED} (repeat with HEADWATER_SEED={SEED})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    for value in getattr(item, "funcargs", {}).values():
        if report.failed and isinstance(value, LocalKafka):
            report.sections.append(("Kafka's log", value.log_tail()))
    return report


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> None:
    """What is a secret in one test is a word in another one's message."""
    redaction._SECRETS._texts = ()


@pytest.fixture
def seed() -> int:
    """The seed of this run; shown with a failing test. Set HEADWATER_SEED to repeat it."""
    print(f"HEADWATER_SEED={SEED}")
    return SEED


@pytest.fixture
def rng(seed: int) -> random.Random:
    """Random numbers that are the same for the same seed."""
    return random.Random(seed)


@pytest.fixture(scope="session")
def kafka() -> Iterator[LocalKafka]:
    """One plain broker for all tests. A test that stops, kills or pauses a broker starts its own."""
    with LocalKafka() as running:
        yield running


@pytest.fixture
def topic(request: pytest.FixtureRequest, _numbers: itertools.count[int]) -> str:
    """A topic name that no other test has.

    The test creates the topic: it knows how many partitions it wants.
    """
    return f"{re.sub('[^a-z0-9]+', '-', request.node.name.lower()).strip('-')[:80]}-{next(_numbers)}"


@pytest.fixture
def spark_connect_port() -> Iterator[int]:
    """The port of a local Spark Connect server: always the same one.

    A test that starts such a server holds it meanwhile; others on this machine wait. Most tests of clients
    take `spark_connect`, which starts no Spark.
    """
    with Path(tempfile.gettempdir(), "headwater-tests-spark-connect.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield 15_002


@pytest.fixture(scope="session")
def schema_registry() -> Iterator[LocalRegistry]:
    """One schema registry for all tests, each of which has subjects of its own."""
    with LocalRegistry() as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[LocalPostgres]:
    """One PostgreSQL for all tests, each of which makes tables of its own."""
    with LocalPostgres() as running:
        yield running


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    """An S3 server of a module's tests."""
    from tests.s3_server import S3Server

    with S3Server() as running:
        yield running


@pytest.fixture(scope="session")
def _numbers() -> itertools.count[int]:
    return itertools.count()


@pytest.fixture(scope="session")
def spark_conf() -> dict[str, Any]:
    """Settings of every Spark that tests start.

    Those of `spark`, and of drivers in processes of their own. All of them have Spark's own Kafka source too:
    ``format("kafka")``, and `from_avro`.
    """
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars())),
        "spark.driver.extraJavaOptions": jvm_options(jars()),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.extraJavaOptions": jvm_options(),
        "spark.executor.memory": "512m",
        "spark.log.level": "ERROR",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@pytest.fixture(scope="session")
def spark(spark_conf: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark with two cores for all tests."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("headwater tests")
    own = {
        "spark.driver.memory": f"{HEAP_MB}m",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    session = builder.config(map={**spark_conf, **own}).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark_connect(spark: SparkSession) -> Iterator[str]:
    """Serve the Spark of all tests over Spark Connect; return the address for clients, each a program.

    A client has a session of its own there. Tables of Spark's default catalog are those of the other tests.
    """
    assert spark._jvm is not None
    context = spark._jsc.sc()
    port = free_port()
    context.conf().set("spark.connect.grpc.binding.port", str(port))
    service = spark._jvm.org.apache.spark.sql.connect.SparkConnectPlugin().driverPlugin()
    service.init(context, None)
    yield f"sc://127.0.0.1:{port}"
    service.shutdown()


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Wheel and source distribution of what is here now."""
    return build(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="session")
def python(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in which headwater is installed from the wheel, as a user has it."""
    return install(distributions.wheel, tmp_path_factory.mktemp("installed") / "python")
