"""File systems of fsspec, and their errors as headwater's."""

from __future__ import annotations

import errno
import functools
import inspect
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import fsspec
from fsspec.core import url_to_fs

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    HeadwaterError,
    MissingDependencyError,
    NoConnectionError,
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

_CLOSED = "Socket is closed"
"""What paramiko says where a connection was closed."""

# Where the errors of the stores' own libraries are defined.
_CLIENTS = ("aiohttp", "botocore", "aiobotocore", "google", "azure", "paramiko", "requests", "urllib3")

# What Python and these libraries raise where nothing listens at an address, or its name has none.
_NOBODY_THERE = (
    "ConnectionRefusedError",
    "NoValidConnectionsError",
    "EndpointConnectionError",
    "ClientConnectorError",
    "ServiceRequestError",
)

# What Python says of an argument that a function does not have.
_UNKNOWN_SETTING = "unexpected keyword argument"

# The libraries of stores that headwater has an extra for.
_EXTRAS = {"s3fs": "s3", "gcsfs": "gcs", "adlfs": "adls", "paramiko": "sftp"}

_S3_KEYS = ', such as {"key": ..., "secret": ...}'
_EXAMPLES = {"s3": _S3_KEYS, "s3a": _S3_KEYS, "sftp": ', such as {"username": ..., "key_filename": ...}'}

# How the names of their errors begin that are about credentials; their other errors may pass.
_CREDENTIALS = (
    "NoCredentials",
    "PartialCredentials",
    "TokenRetrieval",
    "DefaultCredentials",
    "ClientAuthentication",
    "AuthenticationException",
    "BadAuthenticationType",
    "PasswordRequired",
)


def open_file_system(
    url: str, storage_options: Mapping[str, object]
) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the file system of a URL and the path in it.

    Equal arguments give the same object, since fsspec keeps file systems for the life of the process; another
    one where its connection was closed (sftp).

    Raises:
        OptionError: fsspec does not know the protocol, or the options are not the file system's.
        MissingDependencyError: the file system's library is not installed.
    """
    try:
        fs, path = url_to_fs(url, **storage_options)
        if _is_closed(fs):
            type(fs).clear_instance_cache()
            fs, path = url_to_fs(url, **storage_options)
    except ImportError as error:
        for library, extra in _EXTRAS.items():
            if library in str(error):
                raise MissingDependencyError(library, needed_for=f"reading {url}", extra=extra) from error
        raise OptionError(f"{url}: {error} (driver and every executor need it)", option="path") from error
    except (ValueError, TypeError) as error:
        raise OptionError(f"{url}: {error}", option="path") from error
    except (ConnectionError, TimeoutError):
        raise  # may pass: file_errors has it asked again
    except OSError as error:
        if _is_of_client(error):
            raise  # the same
        # For hdfs:// without Hadoop's native library pyarrow lists each place where it looked, a line each.
        message = str(error).strip().partition("\n")[0]
        raise OptionError(
            f"{url}: its file system cannot be opened in this process: {message} (driver and every executor "
            "need its libraries)",
            option="path",
        ) from error
    if _needs_host(fs) and urlsplit(url).username is not None:
        # A file's URL is logged, and goes to executors without what may be a secret.
        raise OptionError(
            'must hold no user: give it in option storageOptions, such as {"username": ..., "key_filename": '
            "...}",
            option="path",
        )
    return fs, path


def status_url(fs: fsspec.AbstractFileSystem, path: str) -> str:
    """Return a path with its protocol, as it is logged and shown, and opened on another host.

    Paths of some file systems lack the host, which these need (sftp, ftp, smb): it is added.
    """
    url = str(fs.unstrip_protocol(path))
    if not _needs_host(fs):
        return url
    protocol, _, rest = url.partition("://")
    options = fs.storage_options
    port = f":{options['port']}" if options.get("port") else ""
    return f"{protocol}://{options['host']}{port}/{rest.lstrip('/')}"


def _needs_host(fs: fsspec.AbstractFileSystem) -> bool:
    return _class_needs_host(cast("Hashable", type(fs)))


# A look at a signature takes longer than all the rest of a file's status.
@functools.cache
def _class_needs_host(kind: Any) -> bool:
    host = inspect.signature(kind.__init__).parameters.get("host")
    return host is not None and host.default is inspect.Parameter.empty


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
        NoConnectionError: nothing listens there.
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
    except (TimeoutError, ConnectionError, EOFError) as error:
        raise _passing_kind(error)(f"{what}: {error!r}", source="files", split=url) from error
    except OSError as error:
        passes = error.errno in _PASSING or _is_of_client(error) or str(error) == _CLOSED
        kind = _passing_kind(error) if passes else SourceError
        raise kind(f"{what}: {error}", source="files", split=url) from error
    except Exception as error:
        if isinstance(error, TypeError) and _UNKNOWN_SETTING in str(error):
            # Stores hand their settings on to their libraries, which look at them at the first request.
            raise OptionError(f"{url}: {error}", option="storageOptions") from error
        if not _is_of_client(error):
            raise
        if type(error).__name__.startswith(_CREDENTIALS):
            raise AuthenticationError(
                f"{what}: {error!r}{_whose_credentials(url)}", source="files", split=url
            ) from error
        raise _passing_kind(error)(f"{what}: {error!r}", source="files", split=url) from error


def _passing_kind(error: Exception) -> type[TransientSourceError]:
    return NoConnectionError if type(error).__name__ in _NOBODY_THERE else TransientSourceError


def _is_closed(fs: fsspec.AbstractFileSystem) -> bool:
    """Whether a file system holds a connection of paramiko, and that is closed."""
    transport = getattr(getattr(fs, "client", None), "get_transport", lambda: None)()
    return transport is not None and not transport.is_active()


def _is_of_client(error: Exception) -> bool:
    return type(error).__module__.startswith(_CLIENTS)


def _whose_credentials(url: str) -> str:
    """Return where the credentials for a store come from."""
    protocol, rest, _ = url.partition("://")
    if not rest or protocol in ("file", "local"):
        return ""
    example = _EXAMPLES.get(protocol, "")
    return (
        f". Credentials are those that the library of {protocol}:// finds on driver and executors, or those "
        f"in option storageOptions{example}"
    )
