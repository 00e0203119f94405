"""What becomes of each answer that S3 and services like it have for a write that must be the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import DeadlineError, StateLocationError
from headwater.core.object_state_store import ObjectStateStore
from headwater.core.state_location import check_state_store
from tests.s3_server import S3Server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(s3: S3Server, tmp_path: Path, clock: ManualClock) -> Iterator[ObjectStateStore]:
    yield ObjectStateStore(f"s3://state/{tmp_path.name}", s3.storage_options, clock)
    s3.refuse()


@pytest.mark.parametrize("code", ["ConditionalRequestConflict", "OperationAborted"])
def test_a_conflict_with_another_write_is_tried_again_later_and_later(
    s3: S3Server, store: ObjectStateStore, clock: ManualClock, code: str
) -> None:
    s3.refuse(*[(409, code)] * 3)
    assert store.put_if_absent("place", b"mine") == b"mine"
    assert store.get("place") == b"mine"
    assert 0.8 * (50 + 100 + 200) - 3 <= clock.monotonic_ms() <= 50 + 100 + 200


@pytest.mark.parametrize(
    "refusal",
    [(409, "ConditionalRequestConflict"), (412, "PreconditionFailed")],
    ids=lambda refusal: refusal[1],
)
def test_a_writer_whose_write_is_refused_behind_the_winners_learns_what_is_there(
    s3: S3Server, store: ObjectStateStore, refusal: tuple[int, str]
) -> None:
    store.put("place", b"theirs")
    s3.refuse(refusal)
    assert store.put_if_absent("place", b"mine") == b"theirs"


def test_a_conflict_without_an_end_is_an_error_that_names_the_object(
    s3: S3Server, store: ObjectStateStore, clock: ManualClock
) -> None:
    s3.refuse(*[(409, "ConditionalRequestConflict")] * 100)
    with pytest.raises(
        StateLocationError,
        match=r"stateLocation s3://state/.*/place: no answer after .* \(ConditionalRequestConflict\)",
    ) as caught:
        store.put_if_absent("place", b"mine")
    assert isinstance(caught.value.__cause__, DeadlineError)
    assert 8_000 < clock.monotonic_ms() <= 10_000


@pytest.mark.parametrize(
    ("status", "code"), [(400, "InvalidArgument"), (400, "InvalidRequest"), (501, "NotImplemented")]
)
def test_a_service_that_refuses_the_header_is_named_with_what_it_lacks(
    s3: S3Server, store: ObjectStateStore, status: int, code: str
) -> None:
    s3.refuse((status, code))
    server = s3.storage_options["endpoint_url"].removeprefix("http://")
    refused = rf"stateLocation s3://state/.*: the S3 service at {re.escape(server)} refused "
    advice = rf".* If-None-Match: \* \({code}: .* or another stateLocation"
    with pytest.raises(StateLocationError, match=refused + advice):
        check_state_store(store)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (403, "AccessDenied", "may not be written or read here"),
        (400, "AuthorizationHeaderMalformed", "cannot be used from here"),
    ],
)
def test_other_errors_stay_what_they_are(
    s3: S3Server, store: ObjectStateStore, status: int, code: str, said: str
) -> None:
    s3.refuse((status, code))
    with pytest.raises(StateLocationError, match=said):
        store.put_if_absent("place", b"mine")
