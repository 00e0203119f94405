"""Files as they stand in an offset: few as they are, many compressed."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from headwater.core.errors import OffsetError
from headwater.enumerators.files.split import FileSplit, FileStatus, deserialized_files, serialized_files


def splits(count: int) -> list[FileSplit]:
    return [
        FileSplit(
            f"{at:010d}",
            FileStatus(
                f"s3://b/in/{uuid.UUID(int=at * 7)}.gz", at, 10**15 - at, None if at % 3 else f"e{at}"
            ),
        )
        for at in range(count)
    ]


@pytest.mark.parametrize("count", [1, 100, 101, 3_000])
def test_files_come_back_as_they_were(count: int) -> None:
    given = splits(count)
    logged: Any = json.loads(json.dumps(serialized_files(reversed(given))))
    assert ("packed" in logged) == (count > 100)
    found = deserialized_files([split.path for split in given], logged)
    assert list(found.values()) == given


def test_many_files_take_less_than_half_of_the_room() -> None:
    logged: Any = serialized_files(splits(1_000))
    plain = json.dumps([[split.file.url, *split.file[1:]] for split in splits(1_000)])
    assert 2 * len(json.dumps(logged)) < len(plain)


@pytest.mark.parametrize("wrong", [None, {"folder": "/a"}, {"folder": "/a", "packed": "x"}])
def test_what_is_no_such_definition_is_an_error_of_the_checkpoint(wrong: Any) -> None:
    with pytest.raises(OffsetError, match="not one of the files source"):
        deserialized_files([("0",)], wrong)
