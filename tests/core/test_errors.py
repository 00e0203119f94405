"""Errors say where, survive the way from executor to driver, and form one tree."""

from __future__ import annotations

import pickle

import pytest

from headwater.core import errors
from headwater.core.errors import (
    DataLossError,
    HeadwaterError,
    MissingDependencyError,
    OptionError,
    SourceError,
    TransientSourceError,
    nearest,
)
from headwater.core.imports import importing


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
