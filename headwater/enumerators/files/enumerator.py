"""The split enumerator of files: what is listed and not yet seen is read, each file once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headwater.core.clock import Clock, SystemClock
from headwater.core.enumerator import Checkpoint, SplitEnumerator, SplitEnumeratorContext, SplitRequest
from headwater.core.errors import OffsetError, OptionError, SourceError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.retry import Backoff, retrying
from headwater.core.split import Path
from headwater.core.state_store import StateStore
from headwater.enumerators.files import seen
from headwater.enumerators.files.backlog import Backlog, BatchLimits
from headwater.enumerators.files.cleaner import CleanSource, FileCleaner
from headwater.enumerators.files.discovery import FileDiscovery, Found
from headwater.enumerators.files.listing import FileLister, lister_for
from headwater.enumerators.files.seen import NameSegment, SeenFiles, Sighting, TooManyNames
from headwater.enumerators.files.selection import FileSelection
from headwater.enumerators.files.spill import NameStore
from headwater.enumerators.files.split import FileSplit, FileStatus

__all__ = ["FileSplitEnumerator", "FilesSettings", "OnChange"]

log = logging.getLogger(__name__)
_PATIENCE_MS = 50
_MOST_BACKLOG = 100_000
_CLEANING_MS = 10_000
_SHOWN = 5

OnChange: TypeAlias = Literal["error", "ignore", "read"]
"""``error``, ``ignore`` or ``read``: what to do with a path that was read and has another content now."""


@dataclass(frozen=True)
class FilesSettings:
    """What the options say about finding files.

    Attributes:
        selection: which files.
        limits: of a batch.
        backoff: how long to go on asking a store that is away or throttles.
        latest_first: the newest files first.
        window_ms: files that arrive with a modification time so much older than the newest one are reported,
            not read.
        on_change: what to do with a path whose content changed.
        clean: what becomes of committed files, None if they stay.
        store: where names go that do not fit into the offset, None if nowhere.
        remember: whether this is a stream; a batch read sees everything once, and remembers nothing.
        schema: the schema that was inferred, to be kept in the offset, or None if the user gave one.
    """

    selection: FileSelection
    limits: BatchLimits
    backoff: Backoff
    latest_first: bool = False
    window_ms: int = 7 * 24 * 3600 * 1000
    on_change: OnChange = "error"
    clean: CleanSource | None = None
    store: StateStore | None = field(default=None, repr=False)
    remember: bool = True
    schema: str | None = None

    def listers(self, clock: Clock) -> list[FileLister]:
        """Return the listers of all paths."""
        never = threading.Event()

        def ask(call: Callable[[], object], what: str) -> object:
            return retrying(call, backoff=self.backoff, clock=clock, cancelled=never, what=what)

        return [lister_for(path, self.selection.storage_options, ask) for path in self.selection.paths]


class FileSplitEnumerator(SplitEnumerator[FileSplit, int]):
    """Lists beside the query and hands each batch its files, the oldest first (Flink.

    ``ContinuousFileSplitEnumerator``).

    The life of a file:

    1. A listing finds it; if it was not seen, it goes to the backlog. In memory only.
    2. A batch asks for splits: the file is assigned with position 0, gets a number, and is remembered as seen
       in the state of the same offset.
    3. The batch reads it to its end. Until another batch has files, it stays in the offset, so that an idle
       query logs nothing.
    4. When its batch is committed, ``cleanSource`` may take it.

    The frontier (`SeenFiles`) stays where it is until this process has listed everything once: files that are
    not listed yet may be older.
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[FileSplit, int],
        settings: FilesSettings,
        clock: Clock | None = None,
        discovery: FileDiscovery | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self._context, self._settings = context, settings
        self._discovery = discovery or FileDiscovery(
            lambda: settings.listers(clock), settings.selection, clock
        )
        self._backlog = Backlog(latest_first=settings.latest_first)
        self._names = NameStore(settings.store) if settings.store is not None else None
        self._cleaner = FileCleaner(settings.clean) if settings.clean is not None else None
        self._seen = self._nothing_seen()
        self._checkpoint: Checkpoint[FileSplit, int] | None = None
        self._state: JsonObject | None = None
        self._next_number = 0
        self._heads: dict[Path, int] = {}
        self._listed_once = self._frozen = False

    def start(self) -> None:
        """Nothing to do: the first look begins the first listing."""

    def refresh(self, checkpoint: Checkpoint[FileSplit, int] | None) -> None:
        """Begin a listing beside the query, unless what is to be read is long enough already, or fixed (AvailableNow)."""
        self._checkpoint, self._heads = checkpoint, {}
        if checkpoint is not None and checkpoint.state != self._state:
            self._restore(checkpoint)
        if not self._frozen and len(self._backlog) < _MOST_BACKLOG:
            self._discovery.begin(self._seen.frontier_ms)

    def handle_split_request(self, request: SplitRequest) -> None:
        if self._frozen:
            self._assign(request)
        else:
            self._look(request)

    def heads(self) -> Mapping[Path, int]:
        return self._heads

    def snapshot_state(self) -> JsonValue:
        if not self._settings.remember:
            return None
        self._state = {
            **self._seen.to_json(),
            "next": self._next_number,
            "selection": self._settings.selection.fingerprint,
        }
        if self._settings.schema is not None:
            self._state["schema"] = self._settings.schema
        return self._state

    def add_splits_back(self, splits: Sequence[FileSplit]) -> None:
        self._backlog.put_back(split.file for split in splits)
        # `refresh` reads it from the checkpoint again.
        self._seen, self._state, self._next_number = self._nothing_seen(), None, 0

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[FileSplit, int]) -> None:
        if self._cleaner is not None:
            self._cleaner.clean(
                [
                    split.file
                    for path, split in checkpoint.splits.items()
                    if checkpoint.positions[path] == split.file.size_bytes
                ]
            )
        if self._names is not None and checkpoint.state == self._state:
            names, needed = self._names, self._seen.segments
            self._context.call_async(
                lambda: names.prune(needed),
                lambda _: None,
                what="deleting names of files that are not needed any more",
            )

    def close(self) -> None:
        self._discovery.close()
        if self._cleaner is not None:
            self._cleaner.close()

    def _nothing_seen(self) -> SeenFiles:
        return SeenFiles(self._settings.window_ms, can_spill=self._settings.store is not None)

    def _restore(self, checkpoint: Checkpoint[FileSplit, int]) -> None:
        """Take what was seen from the checkpoint.

        Names that are kept elsewhere come before anything is decided.
        """
        state = checkpoint.state
        if not isinstance(state, dict) or not isinstance(state.get("next"), int):
            raise OffsetError("the checkpoint's state is not one of the files source")
        self._check_schema(state.get("schema"))
        self._check_selection(state.get("selection"))
        self._seen, self._state, self._next_number = self._nothing_seen(), state, int(str(state["next"]))
        for name, newest_ms in self._seen.restore(state):
            if self._names is None:
                raise OptionError(
                    "the checkpoint keeps names of files at the stateLocation that it began with; give it",
                    option="stateLocation",
                )
            self._context.call_async(
                self._reading(self._names, name, newest_ms),
                self._seen.attach,
                what=f"names of files that were read ({name})",
            )

    @staticmethod
    def _reading(names: NameStore, name: str, newest_ms: int) -> Callable[[], NameSegment]:
        return lambda: names.read(name, newest_ms)

    def _check_schema(self, logged: JsonValue) -> None:
        """A query goes on with the schema that it began with: one that was inferred anew must be the same."""
        if isinstance(logged, str) and self._settings.schema is not None and logged != self._settings.schema:
            raise OptionError(
                f"this query began with the inferred schema {logged}; what is inferred from the files now is {self._settings.schema}. "
                "To go on as before, give the first one with .schema(...); to read the new columns, give the second one"
            )

    def _check_selection(self, logged: JsonValue) -> None:
        if logged != self._settings.selection.fingerprint:
            log.warning(
                "other paths are read than before the restart: files that are selected only now, and are older than what is remembered, are taken "
                "for read ones. To read them too, give them a query of their own, or a new checkpointLocation"
            )

    def _look(self, request: SplitRequest) -> None:
        """Ask for what was found.

        At once if there is something to read, after a moment if there is not, or when all is listed if it
        must be.
        """
        patience_ms = None if self._needs_all(request) else 0 if self._backlog else _PATIENCE_MS
        self._context.call_async(
            lambda: self._discovery.take(patience_ms),
            lambda found: self._handle(found, request),
            what="listing of files",
        )

    def _needs_all(self, request: SplitRequest) -> bool:
        return request.ends or (self._settings.latest_first and not self._listed_once)

    def _handle(self, found: Found, request: SplitRequest) -> None:
        self._take_in(found)
        self._listed_once = self._listed_once or found.listed_once
        nothing_yet = self._checkpoint is None and not self._backlog
        if found.under_way and (nothing_yet or self._needs_all(request)):
            self._look(request)
            return
        self._frozen = request.ends
        self._assign(request)

    def _take_in(self, found: Found) -> None:
        if not self._settings.remember:
            for file in found.recent:
                self._backlog.put(file)
            return
        outside = list(found.outside)
        for file in found.recent:
            sighting = self._seen.sighting(file)
            if sighting is Sighting.NEW or (sighting is Sighting.CHANGED and self._is_read_again(file)):
                self._backlog.put(file)
            elif sighting is Sighting.OUTSIDE:
                outside.append(file)
        if outside:
            log.warning(
                "%d files arrived too late and are not read: they are older than what is remembered of %s: %s%s",
                len(outside),
                "the last files" if self._names is None else "maxFileAge",
                ", ".join(file.url for file in outside[:_SHOWN]),
                ", ..." if len(outside) > _SHOWN else "",
            )

    def _is_read_again(self, file: FileStatus) -> bool:
        """Whether a path whose content changed is read again; an error, if that is the user's wish."""
        if self._settings.on_change == "error":
            raise SourceError(
                "the file changed after it was read. Write new content under a new name, or set onChange to ignore (what came later is not read) "
                "or read (the whole file is read again)",
                source="files",
                split=file.url,
            )
        if self._settings.on_change == "ignore":
            log.warning("%s changed after it was read; what came later is not read", file.url)
            self._seen.replace(file)
            return False
        return True

    def _assign(self, request: SplitRequest) -> None:
        """Give the batch its files; nothing at all if there is none."""
        limits = self._settings.limits if request.limited else self._settings.limits.without_users()
        files = self._backlog.take(limits, self._most())
        if not files:
            self._wait_for_cleaning(request)
            return
        splits = [FileSplit(f"{self._next_number + at:010d}", file) for at, file in enumerate(files)]
        self._next_number += len(splits)
        if self._checkpoint is not None:
            self._context.retire_splits(list(self._checkpoint.splits), "it is read")
        self._context.assign_splits({split.path: (split, 0) for split in splits})
        self._heads = {split.path: split.file.size_bytes for split in splits}
        if self._settings.remember:
            self._remember(files)

    def _most(self) -> int | None:
        """Return how many files may be taken, while the frontier cannot rise to make room for their names."""
        if not self._settings.remember or self._names is not None:
            return None
        if self._settings.latest_first and len(self._backlog) > seen.INLINE_FILES:
            raise OptionError(
                f"{len(self._backlog):,} files wait, and only {seen.INLINE_FILES:,} can be remembered by name while older ones are unread: "
                "read the backlog without latestFirst, or give a stateLocation",
                option="latestFirst",
            )
        return None if self._listed_once else self._seen.room

    def _remember(self, files: Iterable[FileStatus]) -> None:
        oldest_ms = self._backlog.oldest_ms() if self._listed_once else self._seen.frontier_ms
        try:
            overflow = self._seen.add(files, oldest_ms, time.time_ns() // 1_000_000)
        except TooManyNames as error:
            raise SourceError(
                f"{error}: too many files have the same modification time, or older ones are unread (latestFirst), and none may be forgotten, "
                "or it would be read twice. Give a stateLocation for the names (an fsspec URL)",
                source="files",
            ) from error
        if overflow is not None:
            assert self._names is not None
            names, data = self._names, overflow
            self._context.call_async(
                lambda: names.write(data),
                self._seen.attach,
                what="writing names of files to the stateLocation",
            )

    def _wait_for_cleaning(self, request: SplitRequest) -> None:
        """There is nothing else to do.

        A query that ends now should not leave files behind that it might have cleaned.
        """
        if request.ends and self._cleaner is not None:
            cleaner = self._cleaner
            self._context.call_async(
                lambda: cleaner.wait(_CLEANING_MS), lambda _: None, what="cleaning of committed files"
            )
