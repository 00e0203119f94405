"""Sessions of a checkpoint become what the options say, one safe step a round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from headwater.core.enumerator import BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.core.state_location import LocalStateStore
from headwater.enumerators.mqtt.enumerator import MqttSplitEnumerator
from headwater.enumerators.mqtt.sessions import MqttSessions, MqttSessionSplit, Subscribed, SubscriptionNote


class Rounds(BarrierSplitEnumeratorContext[MqttSessionSplit, int]):
    """A coordinator of which each round is one `refresh`: what is assigned is in the next checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.splits: dict[SplitPath, MqttSessionSplit] = {}
        self._store = LocalStateStore(folder)
        self._state: JsonValue = None

    def assign_splits(self, assignments: Mapping[SplitPath, tuple[MqttSessionSplit, int]]) -> None:
        self.splits |= {path: split for path, (split, _) in assignments.items()}

    def retire_splits(self, paths: Collection[SplitPath], reason: str) -> None:
        raise AssertionError("sessions leave by being read to their end")

    def call_async(self, call: Callable[[], Any], take: Callable[[Any], None], *, what: str) -> None:
        take(call())

    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        raise AssertionError("sessions are told nothing")

    def note(self, client_id: str) -> SubscriptionNote:
        return SubscriptionNote(self._store, client_id)

    def round(self, topics: str, count: int, client_id: str = "c") -> dict[str, str]:
        """Plan an epoch after a restart; return the filters of each session, ``-`` for one that leaves."""
        sessions = MqttSessions(client_id, count, tuple(topics.split(",")))
        enumerator = MqttSplitEnumerator(self, sessions, self.note, self._state)
        positions = dict.fromkeys(self.splits, 7)
        enumerator.refresh(Checkpoint(dict(self.splits), positions, self._state) if self.splits else None)
        self._state = enumerator.snapshot_state()
        return {
            split.client_id: "-" if split.is_leaving else ",".join(split.topics)
            for split in self.splits.values()
        }

    def read(self) -> None:
        """An epoch reads: sessions that leave have ended, and the others have noted what they are."""
        self.splits = {path: split for path, split in self.splits.items() if not split.is_leaving}
        for split in self.splits.values():
            self.note(split.client_id).write(Subscribed(split.topics))


@pytest.fixture
def rounds(tmp_path: Path) -> Rounds:
    return Rounds(tmp_path)


def test_a_new_query_begins_with_the_sessions_that_the_options_name(rounds: Rounds) -> None:
    assert rounds.round("a,b", 2) == {"c-0": "$share/c/a,$share/c/b", "c-1": "$share/c/a,$share/c/b"}
    assert rounds.round("a,b", 2) == {"c-0": "$share/c/a,$share/c/b", "c-1": "$share/c/a,$share/c/b"}


def test_one_session_changes_its_topics_in_place(rounds: Rounds) -> None:
    assert rounds.round("a", 1) == {"c": "a"}
    rounds.read()
    assert rounds.round("a,b", 1) == {"c": "a,b"}


def test_others_join_only_when_the_first_is_known_to_share(rounds: Rounds) -> None:
    rounds.round("a", 1)
    rounds.read()
    assert rounds.round("a", 3) == {"c": "$share/c/a"}
    assert rounds.round("a", 3) == {"c": "$share/c/a"}, "nobody knows yet that it does"
    rounds.read()
    assert rounds.round("a", 3) == dict.fromkeys(["c", "c-0", "c-1"], "$share/c/a")


def test_filters_change_only_in_a_session_that_is_alone(rounds: Rounds) -> None:
    rounds.round("a", 3)
    rounds.read()
    assert rounds.round("b", 3) == {"c-0": "$share/c/a", "c-1": "-", "c-2": "-"}
    assert rounds.round("b", 3) == {"c-0": "$share/c/a", "c-1": "-", "c-2": "-"}, "they are not read yet"
    rounds.read()
    assert rounds.round("b", 3) == {"c-0": "$share/c/b"}
    rounds.read()
    assert rounds.round("b", 3) == dict.fromkeys(["c-0", "c-3", "c-4"], "$share/c/b"), "names are new"


def test_sessions_that_are_too_many_leave_and_the_last_one_reads_alone(rounds: Rounds) -> None:
    rounds.round("a", 3)
    rounds.read()
    assert rounds.round("a", 2) == {"c-0": "$share/c/a", "c-1": "$share/c/a", "c-2": "-"}
    rounds.read()
    assert rounds.round("a", 1) == {"c-0": "$share/c/a", "c-1": "-"}
    rounds.read()
    assert rounds.round("a", 1) == {"c-0": "a"}


def test_a_change_of_mind_in_the_middle_is_followed(rounds: Rounds) -> None:
    rounds.round("a", 2)
    rounds.read()
    rounds.round("b", 2)
    both = {"c-0": "$share/c/a", "c-2": "$share/c/a"}
    assert rounds.round("a", 2) == both | {"c-1": "-"}, "who leaves does not come back"
    rounds.read()
    assert rounds.round("a", 2) == both


def test_another_client_id_on_a_checkpoint_is_refused(rounds: Rounds) -> None:
    rounds.round("a", 2)
    with pytest.raises(OptionError, match=r"clientId.*this checkpoint reads the session 'c-0'.*go on with"):
        rounds.round("a", 2, "d")


def test_a_session_of_a_checkpoint_without_filters_has_those_of_the_options() -> None:
    sessions = MqttSessions("c", 2, ("a",))
    assert sessions.logged("c").topics == ("a",)
    assert sessions.logged("c-1").topics == ("$share/c/a",)
