"""The steps of a checkpoint, read off the files that Spark writes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from tests.exactly_once.pipeline import Pipeline, logged_ids

__all__ = ["STEPS", "Disk", "Step"]


class Step(enum.Enum):
    """The steps of a checkpoint.

    The value says how many of Spark's logs, in the order in which they are written, hold the batch by then.
    """

    BEFORE_ITS_OFFSET_IS_LOGGED = 0
    OFFSET_LOGGED = 1
    TASKS_RUN = 1.5
    SINK_COMMITTED = 2
    COMMITTED = 3


STEPS = (
    Step.BEFORE_ITS_OFFSET_IS_LOGGED,
    Step.OFFSET_LOGGED,
    Step.TASKS_RUN,
    Step.SINK_COMMITTED,
    Step.COMMITTED,
)


@dataclass(frozen=True)
class Disk:
    """The folders that tell how far a query has come, in the order in which a batch reaches them."""

    job: Pipeline

    @property
    def logs(self) -> list[Path]:
        return [
            self.job.checkpoint / "offsets",
            self.job.sink / "_spark_metadata",
            self.job.checkpoint / "commits",
        ]

    @property
    def folders(self) -> list[Path]:
        return [*self.logs, self.job.sink]

    def make(self) -> None:
        """Make the folders, so that they can be watched before Spark fills them."""
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)

    def last(self, log: Path) -> int:
        return max(logged_ids(log), default=-1)

    def step(self, appeared: Path) -> tuple[Step, int] | None:
        """Return which batch has come to which step when this file appears."""
        offsets, sink, commits = self.logs
        folder = appeared.parent
        name = appeared.name
        if folder == offsets and name.startswith(".") and name.endswith(".tmp"):
            return Step.BEFORE_ITS_OFFSET_IS_LOGGED, int(name[1:].split(".")[0])
        if folder == self.job.sink and name.startswith("part-"):
            return Step.TASKS_RUN, self.last(offsets)
        steps = {offsets: Step.OFFSET_LOGGED, sink: Step.SINK_COMMITTED, commits: Step.COMMITTED}
        return (steps[folder], int(name)) if folder in steps and name.isdecimal() else None

    def set_back(self, batch_id: int, step: Step) -> bool:
        """Undo what was written between the event and the kill, and return whether there was any.

        So the crash is where it was meant to be.
        """
        late = [
            log / str(found)
            for number, log in enumerate(self.logs)
            for found in logged_ids(log)
            if found > batch_id or (found == batch_id and number >= step.value)
        ]
        for entry in late:
            # Each tenth entry of the sink's log holds those before it, too, and is called so.
            for name in (entry.name, f"{entry.name}.compact"):
                (entry.parent / name).unlink(missing_ok=True)
                (entry.parent / f".{name}.crc").unlink(missing_ok=True)
        return bool(late)

    def __str__(self) -> str:
        return "offset {}, sink {}, commit {}".format(*(self.last(log) for log in self.logs))
