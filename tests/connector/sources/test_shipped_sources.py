"""An enumerator of a user's before the reader of a shipped source."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from examples.manifest_files_source import ManifestEnumerator, ManifestFiles, publish, write_files
from headwater import contracts
from headwater.connector.sources.user_sources import UserSource, options_of_class
from headwater.core.enumerator import PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import ContractError, OptionError
from headwater.core.options import Option, json_object, text
from headwater.core.source import Boundedness
from headwater.testing import BrokenContractError, MicroBatchEngine, SourceTests, read_batch
from local_kafka import LocalKafka


class ManifestTests(SourceTests):
    source = ManifestFiles

    def options(self) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        write_files(folder, 0, 9)
        publish(folder, 4, 2, 0)
        return {"path": str(folder), "manifest": f"{folder}/MANIFEST", "format": "text"}

    def grow(self, options: Mapping[str, str]) -> None:
        publish(Path(options["path"]), 7, 1)

    def small_batches(self) -> Mapping[str, str]:
        return {"filesPerBatch": "1"}


class TestManifestFiles(ManifestTests):
    pass


def test_the_reader_is_the_shipped_one_and_the_enumerator_says_which_files_in_which_order() -> None:
    suite = TestManifestFiles()
    options = suite.options()
    query = MicroBatchEngine.of(ManifestFiles, {**options, "filesPerBatch": "1"})
    query.run()
    assert [rows[0]["value"] for rows in query.sink.values() if rows] == ["4,a", "2,a", "0,a"]
    rows = read_batch(suite.configure({**options, "format": "csv"}))
    assert len(rows) == 6


class Forgets(ManifestFiles):
    """Begins at the first line again after each restart."""

    def restore_enumerator(self, context: Any, checkpoint: Any) -> ManifestEnumerator:
        return self.create_enumerator(context)


class Keeps(ManifestFiles):
    """Takes no splits back of a plan that was not logged."""

    def create_enumerator(self, context: Any) -> ManifestEnumerator:
        class Enumerator(ManifestEnumerator):
            def add_splits_back(self, splits: Any) -> None:
                pass

        return Enumerator(context, self.options["manifest"], self.options["filesPerBatch"])


@pytest.mark.parametrize(
    ("broken", "test", "said"),
    [
        (Forgets, "test_a_crash_after_any_step_of_a_checkpoint_changes_nothing", "came too often"),
        (Keeps, "test_a_plan_that_was_not_logged_is_assigned_again", "splits must be assigned again"),
    ],
)
def test_an_enumerator_that_breaks_its_contract_is_found(
    broken: type[ManifestFiles], test: str, said: str
) -> None:
    suite = type("Suite", (ManifestTests,), {"source": broken})
    with pytest.raises(BrokenContractError, match=said):
        getattr(suite(), test)()


def test_its_options_are_its_own_and_those_of_the_shipped_source() -> None:
    names = [row.name for row in options_of_class(ManifestFiles).rows]
    assert {"manifest", "filesPerBatch", "path", "format", "badRecordsPath"} <= set(names)
    with pytest.raises(OptionError, match=r"manifest.*required"):
        UserSource(ManifestFiles)({"path": "/a", "format": "text"}, Boundedness.BOUNDED)
    with pytest.raises(OptionError, match="manifets"):
        UserSource(ManifestFiles)({"path": "/a", "manifest": "/b", "manifets": "/b"}, None)
    clash = type("Clash", (ManifestFiles,), {"OPTIONS": (Option("format", text, None, "Mine."),)})
    with pytest.raises(ContractError, match="'format' is an option of every source, or comes twice"):
        options_of_class(clash)
    with pytest.raises(OptionError, match="needs a name of its own, not 'files'"):
        options_of_class(type("Nameless", (contracts.FilesSource,), {}))


class Fixed(PlannedSplitEnumerator[contracts.KafkaPartitionSplit, int]):
    """Reads partitions from one offset to another."""

    def __init__(self, context: PlannedSplitEnumeratorContext[Any, int], ranges: Mapping[str, Any]) -> None:
        self._context = context
        self._ranges = {
            contracts.KafkaPartitionSplit(topic, int(partition)): (first, stop)
            for topic, partitions in ranges.items()
            for partition, (first, stop) in partitions.items()
        }

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: contracts.Checkpoint[Any, int] | None) -> None:
        if checkpoint is None:
            self._context.assign_splits(
                {split.path: (split, first) for split, (first, _) in self._ranges.items()}
            )

    def heads(self) -> Mapping[contracts.SplitPath, int]:
        return {split.path: stop for split, (_, stop) in self._ranges.items()}


class Ranges(contracts.KafkaSource):
    """Kafka's reader for ranges that the user names."""

    name = "kafka-ranges"
    OPTIONS = (Option("ranges", json_object, None, "By topic and partition.", required=True),)

    def create_enumerator(self, context: PlannedSplitEnumeratorContext[Any, int]) -> Fixed:
        return Fixed(context, self.options["ranges"])

    def restore_enumerator(self, context: PlannedSplitEnumeratorContext[Any, int], checkpoint: Any) -> Fixed:
        return self.create_enumerator(context)


@pytest.mark.slow
def test_kafkas_reader_reads_what_an_enumerator_of_ones_own_assigns(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, partitions=2)
    kafka.produce(topic, [b"value %d" % number for number in range(9)], partition=1)
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "subscribe": topic,
        "ranges": f'{{"{topic}": {{"1": [3, 7]}}}}',
        "maxOffsetsPerTrigger": "2",
    }
    query = MicroBatchEngine.of(Ranges, options)
    query.run()
    assert [row["value"] for row in query.rows] == [b"value %d" % number for number in range(3, 7)]
    assert sum(map(bool, query.sink.values())) == 2
