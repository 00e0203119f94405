"""The text of one entry of Spark's offset log, in each layout of `OFFSET_LOG_LAYOUTS`.

Version 1 (``OffsetSeq``), one line for each source, in the order of the query::

    v1
    {"batchWatermarkMs":0,"batchTimestampMs":1795000000000,"conf":{...}}
    {"orders":{"0":120}}
    -

Version 2 (``OffsetMap``), where sources have names or numbers; with
``spark.sql.streaming.offsetLog.formatVersion=2`` or named sources::

    v2
    {"batchWatermarkMs":0,"batchTimestampMs":1795000000000,"conf":{...}}
    orders:{"orders":{"0":120}}
    other:-

A ``-`` stands for a source that has no offset yet. Asynchronous progress tracking and continuous processing
write the same entries, less often.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from headwater.connector.compat import OFFSET_LOG_LAYOUTS

VOID: Final = "-"
"""The text in place of the offset of a source that has none yet."""


SOURCE_EVOLUTION: Final = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""The setting of a query whose sources have names, which Spark keeps in the log."""


class LayoutError(ValueError):
    """The text is no entry of an offset log, or one of a later Spark."""


@dataclass(frozen=True)
class OffsetLogEntry:
    """The entry of one batch in Spark's offset log.

    Attributes:
        layout: ``v1`` or ``v2``.
        metadata: the second line: watermark, time and settings of the batch, as JSON.
        offsets: the offset of each source as it was logged, by the source's id: its name in version 2, else
            its number.
    """

    layout: str
    metadata: str
    offsets: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> OffsetLogEntry:
        """Return the entry that a text is.

        Raises:
            LayoutError: it is not an entry, or has a layout that is not known here.
        """
        layout, *lines = text.removesuffix("\n").split("\n")
        if layout not in OFFSET_LOG_LAYOUTS:
            if layout[:1] == "v" and layout[1:].isdigit():
                layouts = " and ".join(OFFSET_LOG_LAYOUTS)
                raise LayoutError(
                    f"has the layout {layout}, and this headwater knows {layouts}: install a newer one"
                )
            raise LayoutError("does not begin with a version, as Spark's offset log does")
        if len(lines) < 2:
            raise LayoutError("ends before the first offset")
        metadata, *logged = lines
        if layout == "v1":
            return cls(layout, metadata, {str(number): line for number, line in enumerate(logged)})
        parts = [line.partition(":") for line in logged]
        if any(not separator for _, separator, _ in parts):
            raise LayoutError("has a line without the name of its source")
        return cls(layout, metadata, {name: offset for name, _, offset in parts})

    @property
    def planned_at_ms(self) -> int | None:
        """When the batch was planned, in milliseconds since 1970; None if that is not there."""
        try:
            value = json.loads(self.metadata)["batchTimestampMs"]
        except (ValueError, TypeError, KeyError):
            return None
        return value if type(value) is int and value > 0 else None

    def with_offsets(self, changed: Mapping[str, str]) -> OffsetLogEntry:
        """Return the same entry with other offsets for some of its sources."""
        return replace(self, offsets={**self.offsets, **changed})

    def with_names(self, names: Mapping[str, str]) -> OffsetLogEntry:
        """Return the same entry as Spark logs it for a query whose sources have names (version 2).

        Args:
            names: by the ids that the sources have now.

        Raises:
            LayoutError: the metadata is not a JSON object.
        """
        try:
            metadata = json.loads(self.metadata)
            conf = {**metadata.get("conf", {}), SOURCE_EVOLUTION: "true"}
            metadata = {
                **metadata,
                "conf": conf,
                "sourceMetadataInfo": metadata.get("sourceMetadataInfo", {}),
            }
        except (ValueError, AttributeError, TypeError) as error:
            raise LayoutError("has no JSON object as its second line") from error
        return OffsetLogEntry(
            "v2",
            json.dumps(metadata, separators=(",", ":")),
            {names[name]: offset for name, offset in self.offsets.items()},
        )

    def text(self) -> str:
        """Return the text that Spark would write for this entry. The inverse of `parse`."""
        lines = (
            [f"{name}:{offset}" for name, offset in self.offsets.items()]
            if self.layout == "v2"
            else list(self.offsets.values())
        )
        return "\n".join([self.layout, self.metadata, *lines])
