"""The split enumerator of files: it assigns each listed file once."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from headwater.core.clock import SystemClock, wall_ms
from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
    UnassignedSplits,
)
from headwater.core.errors import OffsetError, OptionError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.planned_source import DEFAULT_ROW_BYTES
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.files import seen
from headwater.enumerators.files.backlog import FileBacklog
from headwater.enumerators.files.cleaner import FileCleaner
from headwater.enumerators.files.discovery import ListedFiles
from headwater.enumerators.files.fixed_listing import FixedListing
from headwater.enumerators.files.names import NameStore
from headwater.enumerators.files.seen import SeenFiles, sort_files
from headwater.enumerators.files.settings import FilesSettings
from headwater.enumerators.files.split import FileSplit, FileStatus

log = logger_of(__name__)

_PATIENCE_MS = 50
"""How long a batch without files waits for the listing that is under way."""

_MOST_BACKLOG = 100_000
"""With so many files to read, the next listing waits: they are all in memory."""

_CLEANING_MS = 10_000
"""How long a query that ends waits for the cleaning of its last files."""


class FileSplitEnumerator(PlannedSplitEnumerator[FileSplit, int]):
    """Lists beside the query and hands each batch its files, the oldest first.

    Flink's ``ContinuousFileSplitEnumerator``. Listing and cleaning have threads of their own; every method
    here runs on the coordinator's thread, and blocking calls go through
    `SplitEnumeratorContext.call_async`.

    The life of a file:

    1. A listing finds it; if it was not seen, it goes to the backlog. In memory only.
    2. A batch asks for splits: the file is assigned with position 0, gets a number, and is remembered as seen
       in the state of the same offset.
    3. The batch reads it to its end. Until another batch has files, it stays in the offset, so that an idle
       query logs nothing.
    4. When its batch is committed, ``cleanSource`` may take it.

    The frontier (`SeenFiles`) stays where it is until this process has listed everything once: files that are
    not listed yet may be older.

    Args:
        context: the coordinator.
        settings: which files, and how they are remembered.
        is_new: whether the query begins.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[FileSplit, int],
        settings: FilesSettings,
        *,
        is_new: bool,
    ) -> None:
        self._context = context
        self._settings = settings
        self._discovery = settings.discovery(SystemClock(), is_new=is_new)
        self._backlog = FileBacklog(latest_first=settings.latest_first)
        self._names = None if settings.store is None else NameStore(settings.store)
        self._cleaner = None if settings.clean is None else FileCleaner(settings.clean)
        self._seen = self._nothing_seen()
        # What `_seen` was as JSON when it was last logged or restored; None if it has to be restored.
        self._state: JsonObject | None = None
        self._next_number = 0
        # The folder of this query's names at the stateLocation.
        self._query = secrets.token_hex(8)
        self._checkpoint: Checkpoint[FileSplit, int] | None = None
        self._heads: dict[SplitPath, int] = {}
        self._listed_once = False
        # Whether the files to read are those of the backlog and no more: the query ends after them.
        self._is_fixed = False
        # What is left of the first complete listing, if later files are never read; None before it.
        self._first_listing: FixedListing | None = None

    def start(self) -> None:
        """Nothing to do: the first `refresh` begins the first listing."""

    def refresh(self, checkpoint: Checkpoint[FileSplit, int] | None) -> None:
        """Begin a listing beside the query, unless enough files wait already, or they are fixed."""
        self._checkpoint = checkpoint
        self._heads = {}
        # Another state than ours: this process is new, or its last plan never came to be logged.
        if checkpoint is not None and checkpoint.state != self._state:
            self._restore(checkpoint.state)
        if not self._is_fixed and len(self._backlog) < _MOST_BACKLOG:
            self._discovery.begin(self._seen.frontier_ms)

    def handle_split_request(self, request: SplitRequest) -> None:
        if self._is_fixed:
            self._assign(request)
        else:
            self._take_listed(request)

    def heads(self) -> Mapping[SplitPath, int]:
        return self._heads

    def unassigned(self) -> UnassignedSplits:
        return UnassignedSplits(len(self._backlog), self._backlog.size_bytes)

    def snapshot_state(self) -> JsonValue:
        if not self._settings.remember:
            return None
        state: JsonObject = {
            **self._seen.to_json(),
            "next": self._next_number,
            "selection": self._settings.selection.fingerprint,
        }
        if self._names is not None:
            state["query"] = self._query
        if self._first_listing is not None:
            state["listing"] = self._first_listing.to_json()
        if self._settings.schema is not None:
            state["schema"] = self._settings.schema
        self._state = state
        return state

    def add_splits_back(self, splits: Sequence[FileSplit]) -> None:
        self._backlog.put_back(split.file for split in splits)
        if self._first_listing is not None:
            self._first_listing = self._first_listing.with_back([split.file for split in splits])
        # They were remembered as seen when they were assigned: `refresh` restores what the checkpoint holds.
        self._seen = self._nothing_seen()
        self._state = None
        self._next_number = 0

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[FileSplit, int]) -> None:
        if self._cleaner is not None:
            self._cleaner.clean(_read_to_the_end(checkpoint))
        # Only while `_seen` is what this checkpoint holds: another state may need other segments.
        if self._names is not None and checkpoint.state == self._state:
            self._context.call_async(
                partial(self._names.prune, self._seen.segments),
                _no_answer,
                what="deleting names of files that are not needed any more",
            )

    def close(self) -> None:
        self._discovery.close()
        if self._cleaner is not None:
            self._cleaner.close()

    # What was read, out of the checkpoint

    def _nothing_seen(self) -> SeenFiles:
        return SeenFiles(self._settings.window_ms, can_spill=self._settings.store is not None)

    def _restore(self, state: JsonValue) -> None:
        """Take the seen files of a checkpoint.

        Segments of names are read on the worker thread. That is before a file is looked at: calls are
        answered in the order in which they were started, and `_take_listed` comes after this.
        """
        next_number = state.get("next") if isinstance(state, dict) else None
        if not isinstance(state, dict) or not isinstance(next_number, int):
            raise OffsetError("the checkpoint's state is not one of the files source")
        self._check_schema(state.get("schema"))
        self._check_selection(state.get("selection"))
        self._seen = self._nothing_seen()
        self._state = state
        self._next_number = next_number
        if "listing" in state:
            self._first_listing = FixedListing.from_json(state["listing"])
        # Earlier versions logged no name: what this process drew is logged with the next batch.
        self._query = str(state.get("query", self._query))
        for name, newest_ms in self._seen.restore(state):
            if self._names is None:
                raise OptionError(
                    "the checkpoint keeps names of files at the stateLocation that it began with; give it",
                    option="stateLocation",
                )
            self._context.call_async(
                partial(self._names.read, name, newest_ms),
                self._seen.attach,
                what=f"names of files that were read ({name})",
            )

    def _check_schema(self, logged: JsonValue) -> None:
        """A query goes on with the schema that it began with: one that was inferred anew must be the same."""
        inferred = self._settings.schema
        if isinstance(logged, str) and inferred is not None and logged != inferred:
            raise OptionError(
                f"this query began with the inferred schema {logged}; what is inferred from the files now is "
                f"{inferred}. To go on as before, give the first one with .schema(...); to read the new "
                "columns, give the second one"
            )

    def _check_selection(self, logged: JsonValue) -> None:
        if logged != self._settings.selection.fingerprint:
            log.warning(
                "other paths are read than before the restart: files selected only now and older than the "
                "checkpoint's frontier are treated as already read. To read them too, give them a query of "
                "their own, or a new checkpointLocation"
            )

    # From the listing to the backlog

    def _take_listed(self, request: SplitRequest) -> None:
        """Ask for the files that the listing has found so far: `_on_listed` gets it."""
        self._context.call_async(
            partial(self._discovery.take, self._patience_ms(request)),
            partial(self._on_listed, request),
            what="listing of files",
        )

    def _patience_ms(self, request: SplitRequest) -> int | None:
        """Return how long the batch waits for the end of the listing, None for as long as it takes."""
        if self._needs_whole_listing(request):
            return None
        if len(self._backlog) > 0:
            return 0  # the batch has files: what is found later is for the next one
        return _PATIENCE_MS

    def _needs_whole_listing(self, request: SplitRequest) -> bool:
        """Whether a batch may be planned only when everything is listed.

        A query that ends reads all that is there; and before the first listing is over, the newest file is
        not known.
        """
        return request.ends or (self._settings.latest_first and not self._listed_once)

    def _on_listed(self, request: SplitRequest, listed: ListedFiles) -> None:
        sorted_files = sort_files(listed, self._seen, self._settings)
        for file in sorted_files.to_read:
            self._backlog.put(file)
        if sorted_files.too_late:
            self._context.report_lost_splits([file.url for file in sorted_files.too_late])
        self._listed_once = self._listed_once or listed.listed_once
        # A query that has logged nothing waits for its first files: its first offset should have some.
        is_first_without_files = self._checkpoint is None and len(self._backlog) == 0
        if listed.under_way and (is_first_without_files or self._needs_whole_listing(request)):
            self._take_listed(request)
            return
        self._is_fixed = request.ends
        if self._settings.is_fixed:
            self._fix_listing()
        self._assign(request)

    def _fix_listing(self) -> None:
        """Keep the files of the first complete listing; report those that came later, each once."""
        files = self._backlog.files()
        if self._first_listing is None:
            self._first_listing = FixedListing.of(files)
            return
        listing = self._first_listing
        later = [file for file in files if listing.came_later(file)]
        self._backlog.drop(later)
        listing.check(self._backlog.files())
        untold = [file for file in later if file.modified_us > listing.told_us]
        if untold:
            log.warning(
                "%d files came after the first listing, which is all that is read; the first is %s",
                len(untold),
                untold[0].url,
            )
            self._context.report_lost_splits([file.url for file in untold])
        self._first_listing = listing.told(untold)

    # From the backlog to the batch

    def _assign(self, request: SplitRequest) -> None:
        """Give the batch its files; nothing at all if there is none."""
        limits = self._settings.limits if request.limited else self._settings.limits.without_users()
        # What a row weighs is not known before.
        rows_in_bytes = None if request.max_rows is None else request.max_rows * DEFAULT_ROW_BYTES
        limits = limits.within(rows_in_bytes, request.max_bytes)
        files = self._backlog.take(limits, self._most_files())
        if not files:
            if request.ends and self._cleaner is not None:
                # At the end of a query its last files are to be cleaned too.
                self._context.call_async(
                    partial(self._cleaner.wait, _CLEANING_MS), _no_answer, what="cleaning of committed files"
                )
            return
        self._settings.folder_columns.check(file.url for file in files)
        splits = [FileSplit(f"{at:010d}", file) for at, file in enumerate(files, self._next_number)]
        self._next_number += len(splits)
        if self._checkpoint is not None:
            self._context.retire_splits(list(self._checkpoint.splits), "it is read")
        self._context.assign_splits({split.path: (split, 0) for split in splits})
        self._heads = {split.path: split.file.size_bytes for split in splits}
        if self._first_listing is not None:
            self._first_listing = self._first_listing.without(files)
        if self._settings.remember:
            self._remember(files)

    def _most_files(self) -> int | None:
        """Return how many files a batch may have so that their names fit, None for any number."""
        if not self._settings.remember or self._names is not None:
            return None
        if self._settings.latest_first and len(self._backlog) > seen.INLINE_FILES:
            raise OptionError(
                f"{len(self._backlog):,} files wait, and only {seen.INLINE_FILES:,} can be remembered by "
                "name while older ones are unread: read the backlog without latestFirst, or give a "
                "stateLocation",
                option="latestFirst",
            )
        # Until everything is listed once, the frontier must not rise to make room for more names.
        return None if self._listed_once else self._seen.room

    def _remember(self, files: Iterable[FileStatus]) -> None:
        # Before everything is listed once there may be older files: the frontier stays where it is.
        oldest_unread_ms = self._backlog.oldest_ms() if self._listed_once else self._seen.frontier_ms
        overflow = self._seen.add(files, oldest_unread_ms, wall_ms())
        if overflow is not None:
            assert self._names is not None, "names overflow only where there is a place for them"
            # The answer comes before the batch is logged, so the state of its offset names the segment.
            self._context.call_async(
                partial(self._names.write, self._query, overflow),
                self._seen.attach,
                what="writing names of files to the stateLocation",
            )


def _read_to_the_end(checkpoint: Checkpoint[FileSplit, int]) -> list[FileStatus]:
    """Return the files of a checkpoint that are read whole."""
    return [
        split.file
        for path, split in checkpoint.splits.items()
        if checkpoint.positions[path] == split.file.size_bytes
    ]


def _no_answer(_: object) -> None:
    """Take the answer of a call that is made for its effect."""
