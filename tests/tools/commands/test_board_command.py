"""`headwater board CHECKPOINT...`: a page over checkpoints, without the query."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from headwater.tools.commands.board import CheckpointWatcher
from headwater.tools.commands.checkpoint_folder import LocalFolder
from headwater.tools.commands.main import main
from headwater.tools.monitoring.board_view import ViewRequest, board_view
from headwater.tools.monitoring.query_history import QueryHistories
from tests.patience import PATIENCE_S
from tests.tools.commands.test_checkpoint_views import SPARK, planned, written

NOW_MS = 1_795_000_060_000


class Watched:
    """A checkpoint, its watcher, and what a page would show."""

    def __init__(self, path: Path, ends: dict[str, int] | None = None) -> None:
        self._path = path
        self.asked: list[set[str]] = []
        self._histories = QueryHistories(lambda: NOW_MS)

        def ask(splits: Iterable[str]) -> dict[str, int]:
            self.asked.append(set(splits))
            return ends or {}

        self._watcher = CheckpointWatcher(self._histories, LocalFolder(path), None if ends is None else ask)

    def view(self) -> Any:
        self._watcher.look()
        return json.loads(json.dumps(board_view(self._histories, ViewRequest(), {}, NOW_MS)))

    def log(self, batch_id: int, offset: dict[str, object]) -> None:
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1_795_000_000_000 + 1_000 * batch_id}
        logged = f"v1\n{json.dumps(metadata)}\n{json.dumps(offset)}"
        (self._path / "offsets" / str(batch_id)).write_text(logged)

    def commit(self, batch_id: int) -> None:
        (self._path / "commits" / str(batch_id)).write_text("v1\n{}")


def test_batches_show_as_they_are_logged_and_committed(tmp_path: Path) -> None:
    path = written(tmp_path / "q", planned({"a": {"0": 100, "1": 50}}), committed=1)
    watched = Watched(path)
    (query,) = watched.view()["queries"]
    assert (query["name"], query["state"], query["batch_id"]) == (str(path), "logged", 0)
    watched.log(1, planned({"a": {"0": 400, "1": 50}}))
    shown = watched.view()
    assert [batch["committed"] for batch in shown["shown"]["batches"]] == [True, False]
    splits = {row["split"]: (row["position"], row["rate"]) for row in shown["shown"]["splits"]["rows"]}
    assert splits == {"a-0": (400, 300.0), "a-1": (50, 0.0)}
    watched.commit(1)
    shown = watched.view()
    assert [batch["committed"] for batch in shown["shown"]["batches"]] == [True, True]
    assert shown["queries"][0]["rates"] == [None, 300.0], "a batch counts once"


def test_with_a_broker_lag_moves_while_nothing_is_logged(tmp_path: Path) -> None:
    path = written(tmp_path / "q", planned({"a": {"0": 5}}), planned({"a": {"0": 10}}), committed=2)
    ends = {"a-0": 12}
    watched = Watched(path, ends)
    assert watched.view()["queries"][0]["lag"] == 2
    ends["a-0"] = 30
    assert watched.view()["queries"][0]["lag"] == 20
    assert watched.asked == [{"a-0"}, {"a-0"}]


def test_losses_in_the_offsets_show(tmp_path: Path) -> None:
    lost = {"split": "a-0", "first": 1, "until": 4, "found": "planning", "time_ms": 1}
    losses = {"rows": 3, "at_least_rows": 0, "ranges": [lost]}
    shown = Watched(written(tmp_path / "q", planned({"a": {"0": 5}}, losses=losses))).view()
    assert shown["queries"][0]["lost_rows"] == 3
    assert shown["shown"]["lost"] == [lost]


@pytest.mark.parametrize("path", SPARK, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_checkpoints_of_sparks_own_source_show(path: Path) -> None:
    shown = Watched(path).view()
    assert shown["queries"][0]["message"] == ""
    assert shown["shown"]["splits"]["rows"]


def test_in_barrier_mode_splits_stand_where_the_epoch_began(tmp_path: Path) -> None:
    offset = {"source": "http", "version": 2, "places": [[["api"]]], "starts": {"api": 7}, "epoch": 3}
    shown = Watched(written(tmp_path / "q", offset)).view()
    assert [(row["split"], row["position"]) for row in shown["shown"]["splits"]["rows"]] == [("api", 7)]


def test_a_checkpoint_that_is_not_there_is_said_and_shows_once_it_is(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "q")
    assert "no checkpoint is here" in watched.view()["queries"][0]["message"]
    written(tmp_path / "q", planned({"a": {"0": 5}}))
    (query,) = watched.view()["queries"]
    assert (query["message"], query["batch_id"]) == ("", 0)


def test_a_host_at_which_nobody_can_listen_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in ("nowhere.invalid", "192.0.2.1"):
        assert main(["board", str(tmp_path), "--port", "0", "--host", host]) == 1
        assert f"option 'host': '{host}' is no address of this host" in capsys.readouterr().err


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    path = written(tmp_path / "q", planned({"a": {"0": 5}}))
    program = "import sys; from headwater.tools.commands.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "board", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        url = running.stdout.readline().strip()
        deadline = time.monotonic() + PATIENCE_S
        queries: list[Any] = []
        while not queries and time.monotonic() < deadline:
            with urlopen(f"{url}view", timeout=PATIENCE_S) as answer:
                queries = json.load(answer)["queries"]
        assert [query["name"] for query in queries] == [str(path)]
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE_S) == 0


def test_a_file_system_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["board", "nowhere://somewhere/q"]) == 1
    assert capsys.readouterr().err.startswith(
        "headwater board: cannot be opened: Protocol not known: nowhere"
    )
