"""A stored checkpoint of a list that is read in rounds goes on, and one of another kind is refused.

``http_incremental_checkpoint`` holds the offset log, the items of the committed batches, and the state
location, as they were when the query was killed: the last epoch was logged and read, and not committed, and a
round was under way. Known versions were written after every third segment.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.sources.http.options import configure_http
from headwater.core.errors import OffsetError
from headwater.core.source import Boundedness
from headwater.testing import MicroBatchEngine
from tests.readers.http.changing_list import ChangingList
from tests.readers.http.scripted import scripted_server, serve_as

SAMPLE = Path(__file__).parent / "http_incremental_checkpoint"
HOST = "api.example"
ITEMS = 20


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChangingList]:
    """Serve the list as it was when the checkpoint was made."""
    found = ChangingList(page=2)
    for number in range(ITEMS):
        found.put(number)
    with scripted_server() as server:
        server.answer = found.answer
        serve_as(monkeypatch, HOST, server)
        yield found


def configured(state: Path, **options: str) -> ConfiguredBarrierSource:
    given = {
        "url": f"http://{HOST}/orders",
        "incrementalField": "changed",
        "incrementalParam": "since",
        "barrierRows": "8",
        "stateLocation": str(state),
        **options,
    }
    return configure_http(
        {name: value for name, value in given.items() if value}, Boundedness.CONTINUOUS_UNBOUNDED
    )


def versions(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    items = [json.loads(row["item"]) for row in rows]
    return [(item["id"], item["version"]) for item in items]


def stored(state: Path, **options: str) -> MicroBatchEngine:
    """Return the query of the sample."""
    shutil.copytree(SAMPLE / "state", state)
    engine = MicroBatchEngine(lambda: configured(state, **options))
    engine.offsets = (SAMPLE / "offsets.jsonl").read_text().splitlines()
    return engine


def test_a_stored_checkpoint_goes_on_in_the_middle_of_a_round(made: ChangingList, tmp_path: Path) -> None:
    engine = stored(tmp_path / "state")
    committed = versions([json.loads(line) for line in (SAMPLE / "rows.jsonl").read_text().splitlines()])
    assert not engine.run()
    assert committed + versions(engine.rows) == made.history
    made.put(3)
    assert not engine.run()
    assert versions(engine.rows)[-1] == (3, 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"keyField": "number"},
            r'was begun with .*"keys":\["id"\].* and the options say .*"keys":\["number"\]',
        ),
        ({"incrementalType": "text"}, '"order":"TimeOrder".*"order":"TextOrder"'),
        (
            {"incrementalField": "", "incrementalParam": ""},
            "was begun with option incrementalField: go on with it",
        ),
    ],
)
def test_what_tells_changes_belongs_to_the_checkpoint(
    made: ChangingList, tmp_path: Path, options: dict[str, str], said: str
) -> None:
    with pytest.raises(OffsetError, match=said):
        stored(tmp_path / "state", **options).run()


def test_a_checkpoint_of_a_list_that_was_read_as_it_is_is_refused(made: ChangingList, tmp_path: Path) -> None:
    options = {"incrementalField": "", "incrementalParam": ""}
    engine = MicroBatchEngine(lambda: configured(tmp_path / "state", **options))
    engine.run()
    options.clear()
    with pytest.raises(OffsetError, match="was begun without option incrementalField"):
        engine.run()
