"""``headwater checkpoint convert`` is killed (SIGKILL) before each of its steps; the checkpoint works."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.connector.planned.offsets import PlannedOffsetCodec
from headwater.connector.sources.kafka.split_serializer import KafkaSplitSerializer
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.tools.commands.main import main
from headwater.tools.commands.spark_checkpoint import checksum_file
from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
CHECKPOINT = HERE / "spark_checkpoints" / "spark-4.3.0" / "one"
ROOT = HERE.parents[2]
LEAST_STEPS = 15


def offsets(checkpoint: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (checkpoint / "offsets").iterdir()}


def readable(checkpoint: Path, batch_id: int) -> dict[str, int]:
    """Return the positions of a batch as headwater reads them, once Hadoop has accepted the file."""
    entry = checkpoint / "offsets" / str(batch_id)
    checksum = checkpoint / "offsets" / f".{batch_id}.crc"
    assert not checksum.exists() or checksum.read_bytes() == checksum_file(entry.read_bytes())
    logged = entry.read_text().split("\n")[2]
    codec: PlannedOffsetCodec[KafkaPartitionSplit, int] = PlannedOffsetCodec(KafkaSplitSerializer())
    offset = codec.decode(json.loads(logged))
    assert offset is not None
    return {path[1]: position for path, position in offset.positions.items()}


@pytest.mark.crash
def test_a_conversion_killed_at_any_step_leaves_a_checkpoint_that_works_and_can_be_finished_or_undone(
    tmp_path: Path,
) -> None:
    program = [sys.executable, str(HERE / "killed_conversions.py"), str(CHECKPOINT), str(tmp_path)]
    done = subprocess.run(
        program,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    copies = int(done.stdout)
    assert copies > LEAST_STEPS
    before = offsets(CHECKPOINT)
    forms = set()
    for copy in (tmp_path / str(number) for number in range(copies)):
        # Spark and headwater can read each entry at each moment, and the positions are the same ones.
        assert readable(copy, 2) == {"0": 10, "1": 10}
        assert readable(copy, 1) == {"0": 8, "1": 8}
        forms.add(tuple("source" in (copy / "offsets" / batch_id).read_text() for batch_id in ("1", "2")))
        undone = Path(shutil.copytree(copy, tmp_path / "undone"))
        for backup in undone.glob("headwater-backup/*/offsets"):
            for file in backup.iterdir():
                if not file.name.endswith(".tmp"):
                    shutil.copy(file, undone / "offsets" / file.name)
        assert {name: data for name, data in offsets(undone).items() if not name.endswith(".tmp")} == before
        shutil.rmtree(undone)
        assert main(["checkpoint", "convert", str(copy), "--to", "headwater"]) == 0
        assert main(["checkpoint", "convert", str(copy), "--to", "spark-kafka"]) == 0
        entries = {name: data for name, data in offsets(copy).items() if name.isdecimal()}
        assert entries == {name: data for name, data in before.items() if name.isdecimal()}
        assert readable(copy, 2) == {"0": 10, "1": 10}
    assert forms == {(False, False), (True, False), (True, True)}
