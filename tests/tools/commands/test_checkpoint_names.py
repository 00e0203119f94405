"""``headwater checkpoint name``: what it writes and refuses; Spark goes on, and sources come and go."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headwater.tools.commands.checkpoint_folder import FolderError, LocalFolder
from headwater.tools.commands.main import main
from headwater.tools.commands.offset_log import SOURCE_EVOLUTION, OffsetLogEntry
from headwater.tools.commands.spark_checkpoint import checksum_file
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLES = Path(__file__).parent / "spark_checkpoints" / "spark-4.3.0"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A copy of the checkpoint of a query with one source, in layout v1."""
    return Path(shutil.copytree(SAMPLES / "one", tmp_path / "checkpoint"))


def name(checkpoint: Path, *names: str) -> int:
    return main(
        [
            "checkpoint",
            "name",
            str(checkpoint),
            "--yes",
            *(part for each in names for part in ("--name", each)),
        ]
    )


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "headwater-backup" not in path.parts
    }


def test_entries_become_those_of_sources_with_names_and_a_copy_stays(
    checkpoint: Path, capsys: Capture
) -> None:
    before = content(checkpoint)
    assert main(["checkpoint", "name", str(checkpoint), "--name", "0=orders_in"]) == 0
    assert "nothing was written" in capsys.readouterr().out
    assert content(checkpoint) == before
    assert name(checkpoint, "0=orders_in") == 0
    for batch_id in range(3):
        file = checkpoint / "offsets" / str(batch_id)
        old, new = (
            OffsetLogEntry.parse(before[f"offsets/{batch_id}"].decode()),
            OffsetLogEntry.parse(file.read_text()),
        )
        assert (new.layout, dict(new.offsets)) == ("v2", {"orders_in": old.offsets["0"]})
        metadata, conf = (json.loads(each.metadata) for each in (new, old))
        assert metadata["conf"][SOURCE_EVOLUTION] == "true"
        conf["conf"][SOURCE_EVOLUTION] = "true"
        assert metadata == {**conf, "sourceMetadataInfo": {}}
        assert file.with_name(f".{batch_id}.crc").read_bytes() == checksum_file(file.read_bytes())
    assert content(checkpoint / "sources" / "orders_in") == content(checkpoint / "sources" / "0")
    (backup,) = (checkpoint / "headwater-backup").glob("*/offsets")
    shutil.copytree(backup, checkpoint / "offsets", dirs_exist_ok=True)
    shutil.rmtree(checkpoint / "sources" / "orders_in")
    assert content(checkpoint) == before


@pytest.mark.parametrize(
    ("query", "names", "error"),
    [
        ("one", [], "each source needs one name, because Spark takes all or none: --name 0=..."),
        ("one", ["1=a"], "each source needs one name"),
        ("two", ["0=a"], "--name 0=... --name 1=..."),
        ("two", ["0=a", "0=b", "1=c"], "each source needs one name"),
        ("two", ["0=a", "1=a"], "two sources cannot have one name"),
        ("two", ["0=a", "1=b-c"], "'b-c' of source 1 is no name"),
        ("two", ["0=a", "1=7"], "is no name but a number"),
        ("named", ["0=a"], "its sources have names: "),
    ],
)
def test_what_cannot_be_named_is_refused_and_nothing_is_written(
    query: str, names: list[str], error: str, tmp_path: Path, capsys: Capture
) -> None:
    checkpoint = Path(shutil.copytree(SAMPLES / query, tmp_path / "checkpoint"))
    before = content(checkpoint)
    assert name(checkpoint, *names) == 1
    assert error in capsys.readouterr().err
    assert content(checkpoint) == before


def test_it_goes_on_where_it_was_interrupted(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    whole = Path(shutil.copytree(checkpoint, checkpoint.with_name("whole")))
    assert name(whole, "0=orders_in") == 0
    write = LocalFolder.write
    for steps in range(20):
        broken = Path(shutil.copytree(checkpoint, checkpoint.with_name(f"broken-{steps}")))
        left = [None] * steps

        def write_some(folder: LocalFolder, file: str, data: bytes, left: list[None] = left) -> None:
            if not left:
                raise FolderError("the disk is full")
            left.pop()
            write(folder, file, data)

        monkeypatch.setattr(LocalFolder, "write", write_some)
        interrupted = name(broken, "0=orders_in")
        monkeypatch.setattr(LocalFolder, "write", write)
        if not interrupted:
            break
        if OffsetLogEntry.parse((broken / "offsets" / "2").read_text()).layout == "v1":
            is_partly_named = "v2" in (broken / "offsets" / "0").read_text()
            capsys.readouterr()
            assert name(broken, "0=orders_in") == 0
            assert ("interrupted, and had changed" in capsys.readouterr().out) == is_partly_named
        entries = {
            key: value for key, value in content(broken).items() if "offsets" in key and ".crc" not in key
        }
        assert entries.items() <= content(whole).items()
    assert steps > 10


class CountingQuery:
    """Counts the rows of CSV files by their first column: one source of Spark, others of headwater."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self.checkpoint = folder / "checkpoint"
        self.counts: Counter[int] = Counter()

    def add(self, source: str, *values: int) -> None:
        (self._folder / source).mkdir(exist_ok=True)
        number = len(list((self._folder / source).iterdir()))
        (self._folder / source / f"{number}.csv").write_text("".join(f"{value}\n" for value in values))

    def run(self, *sources: str, named: bool) -> None:
        frames = [self._stream(source, named=named) for source in sources]
        union = frames[0]
        for frame in frames[1:]:
            union = union.union(frame)
        writer = union.groupBy("a").count().writeStream.outputMode("update").foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)

    def _stream(self, source: str, *, named: bool) -> DataFrame:
        reader: Any = self._spark.readStream.schema("a int")
        if source == "sparks":
            reader = reader.format("csv")
        else:
            reader = reader.format("headwater").option("source", "files").option("format", "csv")
        if named:
            reader = reader.name(source)
        frame: DataFrame = reader.load(str(self._folder / source))
        return frame

    def _take(self, frame: DataFrame, _batch_id: int) -> None:
        self.counts.update({row[0]: row[1] - self.counts[row[0]] for row in frame.collect()})


def test_spark_goes_on_with_names_and_sources_are_added_and_removed(
    spark: SparkSession, tmp_path: Path
) -> None:
    """From a pending batch, with state and the log of Spark's file source: nothing is lost or doubled."""
    if not hasattr(spark.readStream, "name"):
        pytest.skip("this Spark knows no names of sources")
    query = CountingQuery(spark, tmp_path)
    query.add("sparks", 1, 1, 2)
    query.add("first", 1, 3)
    query.run("sparks", "first", named=False)
    query.add("sparks", 2)
    query.add("first", 3)
    query.run("sparks", "first", named=False)
    # As if it was killed before its last batch was committed.
    last = max(int(file.name) for file in (query.checkpoint / "commits").glob("[0-9]*"))
    for file in (str(last), f".{last}.crc"):
        (query.checkpoint / "commits" / file).unlink(missing_ok=True)
    spark.conf.set(SOURCE_EVOLUTION, "true")
    try:
        assert name(query.checkpoint, "0=sparks", "1=first") == 0
        query.run("sparks", "first", named=True)
        assert query.counts == {1: 3, 2: 2, 3: 2}
        query.add("added", 1)
        query.add("sparks", 3)
        query.run("added", "first", "sparks", named=True)
        query.add("sparks", 1)
        query.add("added", 2)
        query.run("sparks", "added", named=True)
        assert query.counts == {1: 5, 2: 3, 3: 3}
    finally:
        spark.conf.unset(SOURCE_EVOLUTION)
