"""The form of offsets in both modes: one JSON object for one entry of Spark's offset log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from headwater.core.errors import ContractError, OffsetError
from headwater.core.identity_cache import IdentityCache
from headwater.core.jsons import JsonObject, JsonValue, canonical, dumps
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES, check_json
from headwater.core.split import PositionT, Split, SplitPath

_RECENT = 4


class SplitSerializer(Protocol):
    """The members of a source that the form of an offset needs; see `Source` for each."""

    name: ClassVar[str]
    path_depth: ClassVar[int]

    def path_of(self, logged: SplitPath) -> SplitPath: ...

    def serialize_splits(self, splits: Iterable[Any]) -> JsonValue: ...

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, Any]: ...


class _DecodedOffset(Protocol):
    @property
    def splits(self) -> Mapping[SplitPath, Split]:
        """Every live split."""

    @property
    def state(self) -> JsonValue:
        """The enumerator's own."""


OffsetT = TypeVar("OffsetT", bound=_DecodedOffset)


class OffsetCodec(ABC, Generic[OffsetT]):
    """Offsets of one source to Spark's JSON and back.

    Every offset has these fields; a mode adds its own:

    * ``source``, ``version``: who wrote it. An offset with these alone is the genesis: nothing has been
      resolved yet;
    * ``splits``: the definitions of the live splits, as the source writes them;
    * ``state``: the enumerator's own.

    The last few are kept in both forms: Spark hands back each offset several times.
    """

    version: ClassVar[int] = 1
    """The layout that the mode writes. It reads all from 1 on; an older headwater refuses a newer one."""

    def __init__(self, source: SplitSerializer) -> None:
        self._source = source
        self._definitions = IdentityCache(self._define)
        self._recent: deque[tuple[JsonObject, OffsetT]] = deque(maxlen=_RECENT)

    def genesis(self) -> JsonObject:
        """Return the constant that stands before the first batch.

        No split, no I/O, the same in every process.
        """
        return {"source": self._source.name, "version": self.version}

    def encode(self, offset: OffsetT) -> JsonObject:
        """Return the canonical JSON of an offset that is about to be logged: equal offsets are equal texts.

        Raises:
            ContractError: a position, a definition or the enumerator's state is not JSON, or the state is too
                large.
        """
        name = self._source.name
        check_json(
            offset.state,
            f"SplitEnumerator.snapshot_state: the state of source {name!r}",
            MOST_ENUMERATOR_STATE_BYTES,
        )
        fields: JsonObject = {**self.genesis(), **self._to_json(offset)}
        definitions = self._definitions(offset.splits)
        if definitions is not None:
            fields["splits"] = definitions
        if offset.state is not None:
            fields["state"] = offset.state
        try:
            encoded = cast("JsonObject", canonical(fields))
        except TypeError as error:
            wrong = ", ".join(field for field, part in fields.items() if not _is_json(part))
            raise ContractError(
                f"source {name!r}: {wrong} of its offset must be JSON (Split, Source.serialize_splits): "
                f"{error}"
            ) from error
        self._recent.append((encoded, offset))
        return encoded

    def decode(self, raw: JsonObject) -> OffsetT | None:
        """Return the offset that Spark logged; None for the genesis.

        Raises:
            OffsetError: it was written by another source, whose offsets are not adopted, in the other mode,
                by a newer version of headwater, or is no offset at all.
        """
        if not _is_headwaters(raw):
            return self._adopt(raw)
        self._check(raw)
        if raw.keys() == self.genesis().keys():
            return None
        for encoded, offset in self._recent:
            if encoded == raw:
                return offset
        try:
            offset = self._from_json(cast("dict[str, Any]", raw))
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise OffsetError(f"the checkpoint's offset cannot be read: {error!r}") from error
        self._recent.append((raw, offset))
        return offset

    @abstractmethod
    def _to_json(self, offset: OffsetT) -> JsonObject:
        """Return the fields that the mode adds."""

    @abstractmethod
    def _from_json(self, raw: dict[str, Any]) -> OffsetT:
        """Return the offset of all fields: the inverse of `encode`.

        Raises:
            TypeError, AttributeError, KeyError, ValueError: a field is missing or is something else.
        """

    def _define(self, splits: Mapping[SplitPath, Split]) -> JsonValue:
        return self._source.serialize_splits([splits[path] for path in sorted(splits)])

    def _adopt(self, raw: JsonValue) -> OffsetT:
        """Return the offset that something else than headwater logged. The default knows none.

        Raises:
            OffsetError: the source does not know such offsets.
        """
        raise OffsetError(
            "the checkpoint belongs to another source, and headwater cannot go on from it; that source "
            f"logged {dumps(raw)[:200]}. Start it again, or give this query a checkpointLocation of its own: "
            "it then begins where its options say, so choose them to fit what the other source has read"
        )

    def _check(self, raw: JsonObject) -> None:
        name = self._source.name
        if raw["source"] != name:
            raise OffsetError(
                f"the checkpoint belongs to the source {raw['source']!r}, not to {name!r}: "
                "go back to that source or use a new checkpointLocation"
            )
        version = raw["version"]
        if not isinstance(version, int) or not 1 <= version <= self.version:
            raise OffsetError(
                f"the checkpoint's offset has version {version!r}; this headwater reads versions 1 to "
                f"{self.version} of a source in this mode: install the headwater that wrote it, or a newer "
                "one; use a new checkpointLocation if the source was in the other mode"
            )


def _is_headwaters(raw: JsonValue) -> bool:
    # Another source may well have topics of these names, whose values are objects.
    return isinstance(raw, dict) and isinstance(raw.get("source"), str) and "version" in raw


def nest(flat: Mapping[SplitPath, PositionT]) -> JsonObject:
    """``{("orders", "0"): 5}`` -> ``{"orders": {"0": 5}}``."""
    nested: JsonObject = {}
    above: SplitPath = ()
    node = nested
    for path, value in flat.items():
        if path[:-1] != above:  # most often they come one after the other
            above = path[:-1]
            node = nested
            for name in above:
                node = cast("JsonObject", node.setdefault(name, {}))
        node[path[-1]] = value
    return nested


def flatten(nested: JsonValue, source: SplitSerializer) -> dict[SplitPath, Any]:
    """The inverse of `nest` for the paths of a source; a position below may itself be an object.

    Paths that an earlier version of the source logged come out as those of this one.
    """
    level: dict[SplitPath, JsonValue] = {(): nested}
    for _ in range(source.path_depth):
        level = {
            (*path, name): value
            for path, node in level.items()
            for name, value in cast("JsonObject", node).items()
        }
    return {source.path_of(path): position for path, position in level.items()}


def _is_json(value: JsonValue) -> bool:
    try:
        canonical(value)
    except TypeError:
        return False
    return True
