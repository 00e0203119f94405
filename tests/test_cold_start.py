"""Spark starts a Python process for each step of a query: each loads only what its step needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
import contextlib, importlib, json, pickle, sys

loaded = {}

def done(step):
    loaded[step] = sorted(sys.modules)

import pyspark_headwater
assert pyspark_headwater.DefaultSource.name() == "headwater"
done("look up")

at_once = {"kafka.default.api.timeout.ms": "1", "kafkaConsumer.pollTimeoutMs": "1"}
at_once |= {"fetchOffset.numRetries": "0", "fetchOffset.retryIntervalMs": "0"}
options = {"source": "kafka", "subscribe": "orders", "kafka.bootstrap.servers": "127.0.0.1:1", **at_once}
source = pyspark_headwater.DefaultSource(options)
schema = source.schema()
pickle.dumps(source)
done("create")

importlib.import_module("pyspark.sql.worker.plan_data_source_read")
pickle.dumps(source.streamReader(schema))
reader = source.reader(schema)
pickle.dumps(reader)
done("make readers")

from pyspark.sql.datasource import InputPartition
from headwater.connector.planned.planning import ReadTask
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.core.errors import SourceError
from headwater.core.split import SplitRange
task = InputPartition(ReadTask((SplitRange(KafkaPartitionSplit("orders", 0), 0, 1),)))
with contextlib.suppress(SourceError):
    reader.partitions() if sys.argv[1] == "plan" else list(reader.read(task))
done(sys.argv[1])
print(json.dumps(loaded))
"""

DECODE = """
import sys
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.core.emitter import SplitState
from headwater.core.split import SplitRange
from headwater.readers.kafka.columns import KAFKA_COLUMNS
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet

emitter = KafkaRecordEmitter(KAFKA_COLUMNS)
for topic in ("orders", "returns"):
    state = SplitState(SplitRange(KafkaPartitionSplit(topic, 0), 0, 2))
    assert not list(emitter.emit(RecordSet(bytes.fromhex(sys.argv[1])), state))
(batch,) = emitter.flush()
batch.validate(full=True)
print(*batch["topic"], *sys.modules)
"""

ALWAYS = {
    "asyncio",
    "headwater.connector.barrier",
    "fsspec",
    "numba",
    "headwater.readers.async_io",
    "headwater.readers.files",
    "headwater.readers.runtime.epoch",
}
"""What no step of a Kafka query loads, as long as no record comes."""
NOT_LOADED = {
    "look up": {
        *ALWAYS,
        "headwater.connector.sources.registry",
        "headwater.enumerators",
        "importlib.metadata",
        "kafka",
        "numpy",
        "pandas",
        "pyarrow",
        "headwater.readers",
    },
    "create": {
        *ALWAYS,
        "headwater.connector.planned.coordinator",
        "importlib.metadata",
        "kafka",
        "numpy",
        "pandas",
        "pyarrow",
        "headwater.readers.kafka.columns",
        "headwater.readers.kafka.emitter",
        "headwater.readers.kafka.split_reader",
        "headwater.readers.kernels",
        "headwater.readers.runtime",
    },
    "make readers": {
        *ALWAYS,
        "headwater.connector.planned.coordinator",
        "cramjam",
        "kafka",
        "headwater.readers.runtime",
    },
    "plan": {*ALWAYS, "headwater.readers.kafka.split_reader", "headwater.readers.runtime"},
    "read": {*ALWAYS, "headwater.connector.planned.coordinator", "headwater.enumerators.kafka.lookup"},
}


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """All modules that are loaded after each step.

    No cluster is there: planning and reading come as far as the attempt to connect.
    """
    command = [sys.executable, "-c", PROGRAM]
    started = [
        subprocess.Popen([*command, last], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for last in ("plan", "read")
    ]
    found = {}
    for process in started:
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert not process.returncode
        found.update(json.loads(output))
    return {step: set(modules) for step, modules in found.items()}


@pytest.mark.parametrize("step", NOT_LOADED)
def test_a_step_loads_only_what_it_needs(step: str, loaded: dict[str, set[str]]) -> None:
    assert sorted(NOT_LOADED[step] & loaded[step]) == []


def test_planning_and_reading_came_as_far_as_to_connect(loaded: dict[str, set[str]]) -> None:
    assert {"kafka", "headwater.enumerators.kafka.lookup"} <= loaded["plan"]
    assert {"kafka", "headwater.readers.kafka.split_reader", "headwater.readers.kafka.emitter"} <= loaded[
        "read"
    ]


def test_decoding_does_not_load_pandas_which_takes_longer_than_everything_else() -> None:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    for offset in range(2):
        builder.append(offset, 1_000, b"key", b"value", [("header", b"x")])
    command = [sys.executable, "-c", DECODE, bytes(builder.build()).hex()]
    # The first one on a host compiles.
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=PATIENCE_S, check=True)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    *topics, _ = done.stdout.split(maxsplit=4)
    assert topics == ["orders", "orders", "returns", "returns"]
    assert not {"numba", "pandas"} & set(done.stdout.split())
