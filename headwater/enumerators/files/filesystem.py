"""File systems of fsspec, and their errors as headwater's."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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

# What an OSError means that may be over in a moment.
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

# Where the errors of the stores' own libraries are defined.
_CLIENTS = ("aiohttp", "botocore", "aiobotocore", "google", "azure", "requests", "urllib3")

# What Python says of an argument that a function does not have.
_UNKNOWN_SETTING = "unexpected keyword argument"

# How the names of their errors begin that are about credentials; their other errors may pass.
_CREDENTIALS = (
    "NoCredentials",
    "PartialCredentials",
    "TokenRetrieval",
    "DefaultCredentials",
    "ClientAuthentication",
)


def open_file_system(
    url: str, storage_options: Mapping[str, object]
) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the file system of a URL and the path in it.

    Equal arguments give the same object, since fsspec keeps file systems for the life of the process.

    Raises:
        OptionError: fsspec does not know the protocol, or the options are not the file system's.
        MissingDependencyError: the file system's library is not installed.
    """
    try:
        fs, path = url_to_fs(url, **storage_options)
    except ImportError as error:
        if "s3fs" in str(error):
            # The one library that headwater has an extra for.
            raise MissingDependencyError("s3fs", needed_for=f"reading {url}", extra="s3") from error
        raise OptionError(f"{url}: {error} (driver and every executor need it)", option="path") from error
    except (ValueError, TypeError) as error:
        raise OptionError(f"{url}: {error}", option="path") from error
    except (ConnectionError, TimeoutError):
        raise  # may pass: file_errors has it asked again
    except OSError as error:
        # For hdfs:// without Hadoop's native library pyarrow lists each place where it looked, a line each.
        message = str(error).strip().partition("\n")[0]
        raise OptionError(
            f"{url}: its file system cannot be opened in this process: {message} (driver and every executor "
            "need its libraries)",
            option="path",
        ) from error
    return fs, path


def status_url(fs: fsspec.AbstractFileSystem, path: str) -> str:
    """Return a path with its protocol, as it is logged and shown."""
    return str(fs.unstrip_protocol(path))


@contextmanager
def file_errors(what: str, url: str) -> Iterator[None]:
    """Turn the errors of file systems into those of headwater.

    Args:
        what: the step, for messages.
        url: of the file or folder.

    Raises:
        UnknownSplitError: there is no such file.
        AuthorizationError: it may not be read.
        AuthenticationError: credentials are wrong or missing.
        TransientSourceError: the store is away, overloaded, or throttles.
        OptionError: the library of the store does not know one of its settings.
        SourceError: anything else.
    """
    try:
        yield
    except HeadwaterError:
        raise  # from a call inside: it says what happened already
    except FileNotFoundError as error:
        raise UnknownSplitError(
            f"{what}: there is no such file or folder", source="files", split=url
        ) from error
    except PermissionError as error:
        raise AuthorizationError(
            f"{what}: permission to list and read is missing: {error}{_whose_credentials(url)}",
            source="files",
            split=url,
        ) from error
    except (TimeoutError, ConnectionError) as error:
        raise TransientSourceError(f"{what}: {error!r}", source="files", split=url) from error
    except OSError as error:
        kind = TransientSourceError if error.errno in _PASSING else SourceError
        raise kind(f"{what}: {error}", source="files", split=url) from error
    except Exception as error:
        if isinstance(error, TypeError) and _UNKNOWN_SETTING in str(error):
            # Stores hand their settings on to their libraries, which look at them at the first request.
            raise OptionError(f"{url}: {error}", option="storageOptions") from error
        if not type(error).__module__.startswith(_CLIENTS):
            raise
        if type(error).__name__.startswith(_CREDENTIALS):
            raise AuthenticationError(
                f"{what}: {error!r}{_whose_credentials(url)}", source="files", split=url
            ) from error
        raise TransientSourceError(f"{what}: {error!r}", source="files", split=url) from error


def _whose_credentials(url: str) -> str:
    """Return where the credentials for a store come from."""
    protocol, rest, _ = url.partition("://")
    if not rest or protocol in ("file", "local"):
        return ""
    example = ', such as {"key": ..., "secret": ...}' if protocol in ("s3", "s3a") else ""
    return (
        f". Credentials are those that the library of {protocol}:// finds on driver and executors, or those "
        f"in option storageOptions{example}"
    )
