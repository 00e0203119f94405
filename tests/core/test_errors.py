"""Errors say where, survive the way from executor to driver, and form one tree."""

from __future__ import annotations

import pickle

import pytest

from headwater.core import errors
from headwater.core.errors import (
    DataLossError,
    DeadlineError,
    HeadwaterError,
    MissingDependencyError,
    OffsetError,
    OptionError,
    SourceError,
    StateLocationError,
    TransientSourceError,
    nearest,
)
from headwater.core.imports import importing
from headwater.core.redaction import without_users


def test_every_error_is_a_headwater_error_and_is_drawn_in_the_tree() -> None:
    classes = [kind for name, kind in vars(errors).items() if name.endswith("Error")]
    assert all(issubclass(kind, HeadwaterError) for kind in classes)
    assert errors.__doc__ is not None
    assert all(kind.__name__ in errors.__doc__ for kind in classes)


def test_a_source_error_says_source_split_and_position() -> None:
    error = DataLossError("gone", source="kafka", split="orders-3", position=17)
    assert str(error) == "gone [source kafka, split orders-3, position 17]"
    assert str(SourceError("no")) == "no"


@pytest.mark.parametrize(
    "error",
    [
        DataLossError("gone", source="kafka", split="orders-3", position=17),
        OptionError("must be true", option="failOnDataLoss"),
        OptionError("clash"),
        MissingDependencyError("numba", needed_for="the kafka source", extra="kafka"),
    ],
)
def test_errors_survive_pickling_whole(error: HeadwaterError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


WITH_USERS = "no answer from sftp://ann:s3cret@host/a?x=1 and 's3://key:s3cret@bucket/k', https://s3cret@c:1"


@pytest.mark.parametrize(
    "error",
    [
        OptionError(f"must be mqtt://host, not {WITH_USERS}", option="broker"),
        SourceError(WITH_USERS, source="files", split="http://ann:s3cret@host/x.csv", position=7),
        DeadlineError(WITH_USERS),
        StateLocationError("is gone", location="s3://key:s3cret@bucket/state"),
        OffsetError(WITH_USERS),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_shows_the_user_and_password_of_a_url_whichever_option_it_is_from(
    error: HeadwaterError,
) -> None:
    for shown in (error, pickle.loads(pickle.dumps(error))):
        assert "s3cret" not in f"{shown} {shown!r} {getattr(shown, 'message', '')}"
        assert "ann" not in str(shown)
    for others in ("a@b.c http://h:1/p@q?r@s", "abfss://box@account.dfs.core.windows.net/x", "wasb://box@a/"):
        assert without_users(others) == others


def test_nearest_ignores_case_and_knows_when_nothing_is_near() -> None:
    assert nearest("STARTINGOFFSET", ["startingOffsets", "endingOffsets"]) == "startingOffsets"
    assert nearest("zzz", ["startingOffsets"]) is None


def test_a_missing_library_names_its_install_line() -> None:
    with (
        pytest.raises(
            MissingDependencyError, match=r"the x source needs no_such_library.*pip install 'headwater\[x\]'"
        ),
        importing("the x source", extra="x"),
    ):
        import no_such_library  # type: ignore[import-not-found]  # noqa: F401


def test_a_passing_error_is_told_from_a_final_one_by_its_class() -> None:
    assert issubclass(TransientSourceError, SourceError)
    assert not issubclass(DataLossError, TransientSourceError)
