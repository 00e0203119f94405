"""fsspec's file systems, and their errors in headwater's words."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import fsspec
from fsspec.core import url_to_fs

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    HeadwaterError,
    MissingDependencyError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)

__all__ = ["file_errors", "open_file_system", "status_url"]

_PASSING = {
    errno.EBUSY,
    errno.ETIMEDOUT,
    errno.ECONNRESET,
    errno.EPIPE,
    errno.EIO,
    errno.EAGAIN,
    errno.ESTALE,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
}
_CLIENTS = ("aiohttp", "botocore", "aiobotocore", "google", "azure", "requests", "urllib3")
_CREDENTIALS = (
    "NoCredentials",
    "PartialCredentials",
    "TokenRetrieval",
    "DefaultCredentials",
    "ClientAuthentication",
)
_INSTALL = {"s3fs": "s3", "fastavro": "avro"}


def open_file_system(
    url: str, storage_options: Mapping[str, object]
) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the file system of a URL and the path in it. fsspec keeps file systems for the life of the process.

    Raises:
        OptionError: nobody knows the protocol, or the options are not the file system's.
        MissingDependencyError: the file system's library is not installed.
    """
    try:
        fs, path = url_to_fs(url, **storage_options)
    except ImportError as error:
        library = next((name for name in _INSTALL if name in str(error)), None)
        if library is None:
            raise OptionError(f"{url}: {error} (driver and every executor need it)", option="path") from error
        raise MissingDependencyError(library, needed_for=f"reading {url}", extra=_INSTALL[library]) from error
    except (ValueError, TypeError) as error:
        raise OptionError(f"{url}: {error}", option="path") from error
    return fs, path


def status_url(fs: fsspec.AbstractFileSystem, path: str) -> str:
    """Return a path with its protocol: what is logged and shown."""
    url: str = fs.unstrip_protocol(path)
    return url


@contextmanager
def file_errors(what: str, url: str, *, position: int | None = None) -> Iterator[None]:
    """Turn the errors of file systems into those of headwater.

    Raises:
        UnknownSplitError: there is no such file.
        AuthorizationError: it may not be read.
        AuthenticationError: credentials are wrong or missing.
        TransientSourceError: the store is away, overloaded, or throttles.
        SourceError: anything else.
    """
    where: dict[str, Any] = {"source": "files", "split": url, "position": position}
    try:
        yield
    except HeadwaterError:
        raise
    except FileNotFoundError as error:
        raise UnknownSplitError(f"{what}: there is no such file or folder", **where) from error
    except PermissionError as error:
        raise AuthorizationError(
            f"{what}: permission to list and read is missing: {error}", **where
        ) from error
    except (TimeoutError, ConnectionError) as error:
        raise TransientSourceError(f"{what}: {error!r}", **where) from error
    except OSError as error:
        kind = TransientSourceError if error.errno in _PASSING else SourceError
        raise kind(f"{what}: {error}", **where) from error
    except Exception as error:
        if not type(error).__module__.startswith(_CLIENTS):
            raise
        kind = AuthenticationError if type(error).__name__.startswith(_CREDENTIALS) else TransientSourceError
        raise kind(f"{what}: {error!r}", **where) from error
