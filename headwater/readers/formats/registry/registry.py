"""The contract of schema registries: schemas by what values name, and by subject and version."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from headwater.core.clock import SystemClock
from headwater.core.errors import TransientSourceError, UnknownSplitError
from headwater.core.retry import Backoff, retrying

T = TypeVar("T")

SOURCE: Final = "schema registry"
_LAST_ID: Final = (1 << 31) - 1


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as a registry has it.

    Attributes:
        id: which values name.
        kind: ``AVRO``, ``JSON`` or ``PROTOBUF``.
        text: the schema.
        references: the names and texts of the schemas that it refers to, each after those that it needs.
        name: what it is called in errors, where a value names it.
    """

    id: int
    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()
    name: str = ""


class Registry(ABC):
    """Asks a registry. Any thread may call; each schema is fetched once, and kept: registries change none.

    Args:
        deadline_ms: for how long it is asked again.
    """

    def __init__(self, deadline_ms: int) -> None:
        self._deadline_ms = deadline_ms
        self._clock = SystemClock()
        self._schemas: dict[tuple[int, bool], RegisteredSchema] = {}
        self._guids: dict[str, int] = {}
        self._lock = threading.Lock()
        self._never = threading.Event()
        self._is_new = True

    def by_id(self, schema_id: int, *, serialized: bool = False) -> RegisteredSchema:
        """Return the schema that values name. Blocks, for as long as the deadline in the settings says.

        Args:
            schema_id: its id.
            serialized: ask for a schema of Protobuf as its descriptor in Base64. A registry that does not
                know the question answers with the schema as it was registered.

        Raises:
            DeadlineError: the registry is away, or does not know the id, for that long.
            AuthenticationError: it does not accept the credentials.
            AuthorizationError: it refuses the request.
        """
        with self._lock:  # so that the tasks of a process ask once
            key = schema_id, serialized
            if key not in self._schemas:
                self._is_new = False  # values that name schemas tell of a registry
                guid = next((guid for guid, local_id in self._guids.items() if local_id == schema_id), None)
                self._schemas[key] = self.asked_for(schema_id, guid, self.until_ms(), serialized)
            return self._schemas[key]

    def id_of(self, guid: str) -> int:
        """Return an id by which `by_id` knows a schema that is named by its GUID. Asks nothing.

        It counts in this process alone, and is none that the registry gives: those begin at 1.
        """
        with self._lock:
            return self._guids.setdefault(guid, _LAST_ID - len(self._guids))

    @abstractmethod
    def asked_for(
        self, schema_id: int, guid: str | None, until_ms: int, serialized: bool
    ) -> RegisteredSchema:
        """Ask for a schema, until the registry knows it: by its GUID, or by its id if that is None."""

    @abstractmethod
    def by_version(self, subject: str, version: str, *, serialized: bool = False) -> RegisteredSchema:
        """Return a schema of a subject: of a version by its number, or ``latest``. Called on the driver.

        Raises:
            UnknownSplitError: the registry has no such subject or version.
            DeadlineError: it is away.
        """

    def until_ms(self) -> int:
        """Return when a question that is asked now must be answered, with all that the answer refers to."""
        return self._clock.monotonic_ms() + self._deadline_ms

    def again(self, ask: Callable[[], T], what: str, until_ms: int) -> T:
        """Ask again while the registry is away."""
        left_ms = max(0, until_ms - self._clock.monotonic_ms())
        answer = retrying(
            ask,
            backoff=Backoff(deadline_ms=left_ms, most_ms=10_000),
            clock=self._clock,
            cancelled=self._never,
            what=what,
            is_new=self._is_new,
        )
        self._is_new = False
        return answer

    def until_known(self, ask: Callable[[], T], what: str, until_ms: int) -> T:
        """Ask again also for schemas that the registry does not know: this server may not know them yet."""

        def known() -> T:
            try:
                return ask()
            except UnknownSplitError as error:
                raise TransientSourceError(error.message, source=SOURCE) from error

        return self.again(known, what, until_ms)


def named(schema_id: int, guid: str | None) -> str:
    """Return the name of a schema in errors."""
    return f"the schema of id {schema_id}" if guid is None else f"the schema of GUID {guid}"
