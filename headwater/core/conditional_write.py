"""Put-if-absent in an object store: a write with a condition, through the store's fsspec library."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from headwater.core.clock import Clock
from headwater.core.errors import DeadlineError, StateLocationError, TransientSourceError
from headwater.core.retry import Backoff, retrying

if TYPE_CHECKING:
    import fsspec

_CONFLICTS = ("ConditionalRequestConflict", "OperationAborted")
"""S3's error while another write of the same object is under way. Neither of the two has lost yet."""

_REFUSALS = ("InvalidArgument", "InvalidRequest", "NotImplemented")
"""The errors of services that do not know the header ``If-None-Match``.

s3fs maps many codes to EINVAL; the others, such as a wrong region, are not about the header.
"""

_BACKOFF = Backoff(deadline_ms=10_000, most_ms=1_000)


def create_object(
    fs: fsspec.AbstractFileSystem, path: str, data: bytes, *, location: str, clock: Clock
) -> bool:
    """Write an object unless there is one, in one atomic step of the store; return whether it was written.

    Of several writers at once exactly one gets True, on whichever machines they are: to look first and write
    then would let two of them win.

    Args:
        fs: a file system whose ``mode="create"`` is such a step.
        path: of the object.
        data: the content.
        location: names the store in errors.
        clock: time, for the waits while another write of the object is under way.

    Raises:
        StateLocationError: the service does not know the condition, or other writes were under way for ten
            seconds.
        OSError: any other error of the library.
    """
    try:
        return retrying(
            lambda: _create(fs, path, data, location),
            backoff=_BACKOFF,
            clock=clock,
            cancelled=threading.Event(),
            what=f"creating {path}",
        )
    except DeadlineError as error:
        raise StateLocationError(
            f"{error.message}; something else keeps writing this object", location=location
        ) from error


def _create(fs: fsspec.AbstractFileSystem, path: str, data: bytes, location: str) -> bool:
    try:
        fs.pipe_file(path, data, mode="create")
    except FileExistsError:
        return False  # the race is lost: another writer was first
    except OSError as error:
        code = _s3_code(error)
        # s3fs knows a lost race by the condition that Amazon names in its answer. Other services name none,
        # and ours was the only one.
        if code == "PreconditionFailed":
            return False
        if code in _CONFLICTS:
            # Asked again until the other write is over: then this one has won, or finds the object.
            raise TransientSourceError(f"another write of it is under way ({code})") from error
        if code in _REFUSALS:
            raise StateLocationError(
                f"{_service(fs)} refused to write {path} with If-None-Match: * ({code}: {error}); without "
                "this header two attempts of a task could both believe they were the first. Use a version of "
                "the service that has it, or another stateLocation",
                location=location,
            ) from error
        raise
    return True


def _s3_code(error: OSError) -> str | None:
    """Return the error code that S3 sent, None if the error is not S3's."""
    response = getattr(error.__cause__, "response", None)
    if not isinstance(response, dict):
        return None
    return cast("str | None", response.get("Error", {}).get("Code"))


def _service(fs: fsspec.AbstractFileSystem) -> str:
    """Return the name of an S3 service for messages, without the password that its URL may hold."""
    return f"the S3 service at {urlsplit(fs.s3.meta.endpoint_url).netloc.rpartition('@')[2]}"
