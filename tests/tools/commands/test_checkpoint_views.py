"""`headwater checkpoint show | positions | diff`: what checkpoints say, of whichever source."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from headwater.tools.commands.main import main
from local_kafka import LocalKafka

SAMPLES = Path(__file__).parent / "spark_checkpoints"
SPARK = sorted(path for version in SAMPLES.iterdir() for path in version.iterdir())


def written(folder: Path, *batches: dict[str, object] | str, committed: int = 0) -> Path:
    """Write the logs of a query with one source; a batch is what the source logged."""
    for log in ("offsets", "commits"):
        (folder / log).mkdir(parents=True)
    for number, logged in enumerate(batches):
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1_795_000_000_000 + 1_000 * number, "conf": {}}
        text = logged if isinstance(logged, str) else json.dumps(logged)
        (folder / "offsets" / str(number)).write_text(f"v1\n{json.dumps(metadata)}\n{text}")
    for number in range(committed):
        (folder / "commits" / str(number)).write_text("v1\n{}")
    return folder


def planned(positions: dict[str, dict[str, int]], **more: object) -> dict[str, object]:
    return {"source": "kafka", "version": 2, "positions": positions, "splits": {}, "state": None, **more}


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    assert main(["checkpoint", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("path", SPARK, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_checkpoints_of_sparks_own_source_are_read(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "show", path)
    assert "Spark's kafka" in "".join(shown)
    assert shown[-1].startswith("the next start ")
    assert "position" in said(capsys, "positions", path)[1]


def test_a_batch_that_is_not_committed_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "q", planned({"a": {"0": 5}}), planned({"a": {"0": 1_205}}), committed=1)
    shown = said(capsys, "show", path)
    assert shown[2].split() == [
        *("0", "2026-11-18", "11:06:40", "none", "committed", "0:", "headwater's", "kafka,", "1", "splits")
    ]
    assert shown[3].endswith("pending    0: headwater's kafka, 1 splits, +1,200")
    assert shown[-1] == "the next start reads batch 1 again, exactly as it is logged, and goes on behind it"


def test_splits_that_are_out_of_sight_are_shown_with_their_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {"b": {"0": {"position": 7, "since_ms": 1, "split": {}}}}
    path = written(tmp_path / "q", planned({"a": {"0": 5}}, kept=kept), committed=1)
    assert said(capsys, "positions", path)[1:] == [
        "  split  position",
        "  -----  --------  ------------",
        "  a-0    5",
        "  b-0    7         out of sight",
    ]
    assert "2 splits, 1 of them out of sight" in said(capsys, "show", path)[2]


def test_two_batches_are_compared_split_by_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        tmp_path / "q",
        planned({"a": {"0": 5, "1": 5}}),
        planned({"a": {"0": 2_005, "2": 9}}),
        committed=2,
    )
    assert [line.split() for line in said(capsys, "diff", path, 0, 1)[3:]] == [
        ["a-0", "5", "2005", "+2,000"],
        ["a-1", "5", "null", "gone"],
        ["a-2", "null", "9", "new"],
    ]


def test_a_checkpoint_that_was_moved_is_compared_under_the_names_of_both_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "q", {"a": {"0": 5}}, planned({"a": {"0": 7}}), committed=2)
    assert "Spark's kafka, then headwater's kafka," in said(capsys, "diff", path, 0, 1)[0]


def test_a_source_whose_positions_lie_elsewhere_is_shown_as_it_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(
        tmp_path / "q", "-", '{"source": "http", "version": 3, "epoch": 4}', "other:text", committed=3
    )
    assert "nothing yet" in said(capsys, "positions", path, "--batch", 0)[0]
    http = said(capsys, "positions", path, "--batch", 1)
    assert http[0] == "source 0: headwater's http, after batch 1"
    assert '"epoch": 4' in http[1]
    assert "other:text" in said(capsys, "positions", path)[1]


@pytest.mark.slow
def test_a_broker_says_how_far_behind_each_partition_is(
    kafka: LocalKafka, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic(topic, partitions=1)
    kafka.produce(topic, [b"x"] * 12)
    path = written(tmp_path / "q", {topic: {"0": 5, "9": 3}}, committed=1)
    lines = said(capsys, "positions", path, "--broker", kafka.bootstrap_servers)
    assert [line.split() for line in lines[3:]] == [
        [f"{topic}-0", "5", "12", "7"],
        [f"{topic}-9", "3", "unknown", "unknown"],
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["show", "{here}"], "no checkpoint is here"),
        (["show", "{here}/file"], "no checkpoint is here"),
        (["show", "hdfs://host/q"], "cannot be opened: "),
        (["positions", "{query}", "--batch", "7"], "the offset log has no batch 7, but 0 to 0"),
        (["diff", "{query}", "0", "3"], "the offset log has no batch 3"),
        (["show", "nowhere://host/q"], "Protocol not known: nowhere"),
    ],
)
def test_what_cannot_be_shown_is_an_error_of_one_line(
    arguments: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = written(tmp_path / "q", planned({}), committed=1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "file").touch()
    places = {"here": tmp_path / "empty", "query": query}
    assert main(["checkpoint", *(each.format(**places) for each in arguments)]) == 1
    told = capsys.readouterr().err
    assert error in told
    assert told.count("\n") == 1


def test_nothing_is_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "q"
    shutil.copytree(SPARK[0], path)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for view in (["show"], ["positions"]):
        said(capsys, view[0], path)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
