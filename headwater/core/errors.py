"""Every error that headwater raises, in one tree.

::

    HeadwaterError
    ├── OptionError (ValueError)             an option is missing, unknown, malformed, or clashes with another
    ├── FormatSchemaError (ValueError)       the schema of values cannot be read, or no column can hold a type
    ├── MissingDependencyError (ImportError) a library that a source needs is not installed in this process
    ├── InstallationError (ImportError)      installed versions do not go together
    ├── OffsetError                          an offset of a checkpoint is of another source or a later version
    ├── ContractError                        a source broke a promise of its contract
    ├── StateLocationError                   stateLocation cannot be used, or its objects are cut or changed
    ├── FencedError                          another attempt took this task over
    ├── AsyncCallError                       a call of asynchronous I/O failed for good; says function and row
    │   ├── CallTimeoutError (TimeoutError)  all attempts together took longer than the timeout
    │   └── CircuitOpenError                 not asked at all: the circuit breaker is open
    └── SourceError                          the outside system said no; has source, split and position
        ├── TransientSourceError             worth asking again: away, overloaded, changing its leader
        │   ├── NoConnectionError            nothing listens at the address, or its name has none
        │   ├── DeadlineError                asked again until the deadline, and still no answer
        │   └── QueueTakenError              another connection has taken the queue of a staged source
        ├── AuthenticationError              wrong credentials, or none where some are needed
        ├── AuthorizationError               the credentials are right, the permission is missing
        ├── UnknownSplitError                a split that was asked for does not exist
        ├── DataLossError                    records that should have been read are gone
        │   └── LostSlotError                the place from which a server kept its log for a query is gone
        └── CorruptRecordError               bytes that fail their checksum or cannot be decoded

Errors of client libraries and of the operating system are mapped into this tree in one place per system
(``headwater/enumerators/kafka/client/errors.py`` for Kafka). No message ever holds a secret.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from headwater.core.redaction import redacted

E = TypeVar("E", bound="HeadwaterError")
EVERYWHERE: Final = ". Driver and every executor need it: PYSPARK_PYTHON names the Python that Spark starts"
"""The message about a library that is missing."""


class HeadwaterError(Exception):
    """The root of the tree: catching it catches everything that headwater itself raises.

    Its text names URLs without the user and password that may stand in them, whichever option they are from,
    and none of the secrets that this process has used (`headwater.core.redaction`).

    Attributes:
        is_meant: whether an option of the user asks for it. Where it was found out says nothing then, and no
            frames of ours are shown.
    """

    is_meant = False

    def __init__(self, *args: object) -> None:
        super().__init__(*(redacted(each) if isinstance(each, str) else each for each in args))


class OptionError(HeadwaterError, ValueError):
    """An option does not make sense. Raised before any connection is opened.

    Args:
        message: the mistake, and the right form.
        option: the name of the option as the user would write it.
    """

    is_meant = True

    def __init__(self, message: str, *, option: str | None = None) -> None:
        super().__init__(message if option is None else f"option {option!r}: {message}")
        self.option = option

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args[0], {"option": self.option})


def meant(error: E) -> E:
    """Return an error that an option of the user asks for, to be raised."""
    error.is_meant = True
    return error


class FormatSchemaError(HeadwaterError, ValueError):
    """The schema of values cannot be read, or it has a type that no column can hold."""


class MissingDependencyError(HeadwaterError, ImportError):
    """A library that only some sources need is missing in this process.

    The message names the line that installs it.

    Args:
        library: the package that cannot be imported.
        needed_for: the part that needs it, for example ``the kafka source``.
        extra: the extra of this package that installs it.
        everywhere: whether executors need it too, or this process alone.
    """

    def __init__(self, library: str, *, needed_for: str, extra: str, everywhere: bool = True) -> None:
        super().__init__(
            f"{needed_for} needs {library}, which is not installed in {sys.executable}. Install it with: "
            f"{sys.executable} -m pip install 'headwater[{extra}]'{EVERYWHERE if everywhere else ''}"
        )
        self.library = library
        self.needed_for = needed_for
        self.extra = extra
        self.everywhere = everywhere

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_missing, (self.library, self.needed_for, self.extra, self.everywhere)


class InstallationError(HeadwaterError, ImportError):
    """Installed versions do not go together, for example a PySpark that is too old."""


class OffsetError(HeadwaterError):
    """A checkpoint holds an offset that this source cannot go on from. The message says how to go on."""


class ContractError(HeadwaterError):
    """A source broke a promise that its contract makes. The message names the contract."""


class StateLocationError(HeadwaterError):
    """``stateLocation`` cannot be used, or something in it was cut short, changed or removed.

    Driver and executors keep there the parts of a checkpoint beside Spark's own files.

    Args:
        message: the fault, and its remedy.
        location: the URL, for the message.
    """

    def __init__(self, message: str, *, location: str | None = None) -> None:
        super().__init__(message if location is None else f"stateLocation {location}: {message}")


class FencedError(HeadwaterError):
    """Another attempt of this task took over, or was the first to publish.

    It takes over when this one has given no sign of life for too long. This one must not go on; Spark retries
    it.
    """


class AsyncCallError(HeadwaterError):
    """A call to an outside service failed, and nothing is left to try.

    ``__cause__`` is the error of the user's function, if it raised.
    """


class CallTimeoutError(AsyncCallError, TimeoutError):
    """A call had no result before its timeout, which spans all attempts."""


class CircuitOpenError(AsyncCallError):
    """Too many calls in a row failed: the circuit breaker lets none through until its pause is over."""


class SourceError(HeadwaterError):
    """The outside system refused, or failed.

    Args:
        message: the event, and its remedy.
        source: the source's name, for example ``kafka``.
        split: the split's id, where one is concerned.
        position: the next record that was to be read, where one is concerned.
    """

    def __init__(
        self, message: str, *, source: str | None = None, split: str | None = None, position: object = None
    ) -> None:
        where = ", ".join(
            f"{name} {value}"
            for name, value in (("source", source), ("split", split), ("position", position))
            if value is not None
        )
        super().__init__(f"{message} [{where}]" if where else message)
        self.message = redacted(message)
        self.source = source
        self.split = split
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        where = {"source": self.source, "split": self.split, "position": self.position}
        return _rebuild, (type(self), self.message, where)


class TransientSourceError(SourceError):
    """The same question may well be answered a moment later."""


class NoConnectionError(TransientSourceError):
    """Nothing listens at the address, or its name has none.

    Where nothing has ever answered, that is no outage to wait for: it is asked for a few seconds only.

    Attributes:
        is_first: whether whoever raises it knows that nothing has ever answered.
    """

    is_first = False


class QueueTakenError(TransientSourceError):
    """Another connection has taken the queue of a staged source away from this one.

    It may be a receiver that has been replaced and not noticed yet: that one ends when it has connected. So
    this is worth another try, but not many.
    """


class DeadlineError(TransientSourceError):
    """Asked again and again until the deadline passed. ``__cause__`` is the last answer."""


class AuthenticationError(SourceError):
    """The outside does not accept the credentials. Asking again does not help."""


class AuthorizationError(SourceError):
    """The outside accepts the credentials, and refuses the request. The message names the permission."""


class UnknownSplitError(SourceError):
    """A topic, partition, file or table that was asked for does not exist."""


class DataLossError(SourceError):
    """Records at the position were removed before they were read."""


class LostSlotError(DataLossError):
    """The log that a server kept for this query, from its position on, is not there any more, or is another.

    A replication slot that was dropped, made anew, read by somebody else or invalidated by the server.
    """


class CorruptRecordError(SourceError):
    """Bytes that arrived are damaged, for example a checksum that does not fit."""


def nearest(name: str, valid: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the valid name that looks most like ``name``, ignoring case, or None if none is near.

    Args:
        name: which is not valid.
        valid: names.
        likeness: how near a name must be, from 0 to 1: the ``ratio`` of ``difflib``.
    """
    by_lower = {candidate.lower(): candidate for candidate in valid}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=likeness)
    return by_lower[matches[0]] if matches else None


def unknown_attribute(module: str, name: str, valid: Iterable[str]) -> AttributeError:
    """Return the error of a public module that is asked for a name that it does not have.

    Args:
        module: its name.
        name: which was asked for.
        valid: the names that it has.
    """
    near = None if name.startswith("_") else nearest(name, valid)
    hint = "" if near is None else f"; did you mean {near!r}?"
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def _rebuild_missing(library: str, needed_for: str, extra: str, everywhere: bool) -> MissingDependencyError:
    return MissingDependencyError(library, needed_for=needed_for, extra=extra, everywhere=everywhere)


# Errors are pickled on their way from an executor to the driver. What `Exception` does by itself, calling the
# class with its message alone, would lose the keywords.
def _rebuild(kind: type[HeadwaterError], message: str, fields: dict[str, Any]) -> HeadwaterError:
    if issubclass(kind, OptionError):
        error = kind.__new__(kind)
        HeadwaterError.__init__(error, message)
        error.option = fields["option"]
        return error
    return kind(message, **fields)
