"""What holds of offsets in both modes: whose they are, and that no mode takes the other's for its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headwater.connector.barrier.offsets import EpochId, EpochOffset, EpochOffsetCodec
from headwater.connector.coordination.offset_codec import OffsetCodec
from headwater.connector.planned.offsets import PlannedOffset, PlannedOffsetCodec
from headwater.core.epoch import Barrier, WaitingSplits
from headwater.core.errors import ContractError, OffsetError
from tests.doubles import NumberSource, NumberSplit

SPLIT = NumberSplit("a")
PLANNED: PlannedOffset[NumberSplit, int] = PlannedOffset({("a",): SPLIT}, {("a",): 3})
EPOCH = EpochOffset(
    epoch=EpochId("query", 1, "nonce"),
    barrier=Barrier(),
    splits={("a",): SPLIT},
    starts={("a",): 3},
    tasks=[(("a",),)],
    restored=[()],
    events=[()],
    waiting=[(WaitingSplits("0000000001-00000-aa", 3, 9),)],
)
CASES = [(PlannedOffsetCodec, PLANNED), (EpochOffsetCodec, EPOCH)]
each_mode = pytest.mark.parametrize(("codec", "offset"), CASES, ids=["planned", "barrier"])


@each_mode
def test_an_offset_comes_back_in_another_process(codec: type[OffsetCodec[Any]], offset: Any) -> None:
    assert codec(NumberSource()).decode(codec(NumberSource()).encode(offset)) == offset


@each_mode
def test_the_genesis_is_no_offset(codec: type[OffsetCodec[Any]], offset: Any) -> None:
    made = codec(NumberSource())
    assert made.genesis() == {"source": "numbers", "version": codec.version}
    assert made.decode(made.genesis()) is None


@each_mode
def test_an_offset_of_the_other_mode_is_refused_and_not_taken_for_the_genesis(
    codec: type[OffsetCodec[Any]], offset: Any
) -> None:
    other = EpochOffsetCodec if codec is PlannedOffsetCodec else PlannedOffsetCodec
    encoded = codec(NumberSource()).encode(offset)
    # The newer layout of planned mode is refused before it is read.
    with pytest.raises(OffsetError, match=r"the checkpoint's offset cannot be read|was in the other mode"):
        other(NumberSource()).decode(encoded)


@each_mode
def test_what_another_source_or_a_later_version_wrote_is_refused(
    codec: type[OffsetCodec[Any]], offset: Any
) -> None:
    encoded = codec(NumberSource()).encode(offset)
    for changed, said in (
        ({"source": "other"}, "belongs to the source 'other', not to 'numbers'"),
        (
            {"version": codec.version + 1},
            f"has version {codec.version + 1}; this headwater reads versions 1 to {codec.version}",
        ),
    ):
        with pytest.raises(OffsetError, match=said):
            codec(NumberSource()).decode({**encoded, **changed})
    with pytest.raises(OffsetError, match="belongs to another source, and headwater cannot go on from it"):
        codec(NumberSource()).decode({"offset": 7})


@each_mode
def test_state_that_is_not_json_is_refused_before_it_is_logged(
    codec: type[OffsetCodec[Any]], offset: Any
) -> None:
    with pytest.raises(ContractError, match=r"SplitEnumerator\.snapshot_state"):
        codec(NumberSource()).encode(replace(offset, state={1, 2}))
