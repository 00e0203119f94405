"""Schemas that lie in files, read on the driver."""

from __future__ import annotations

from pathlib import Path

from headwater.core.errors import OptionError
from headwater.core.options import Option


def file_content(path: str, option: Option[str | None]) -> bytes:
    """Return what is in a file: a local one, or one of any file system of fsspec.

    Raises:
        OptionError: it cannot be read.
    """
    try:
        if "://" not in path:
            return Path(path).read_bytes()
        import fsspec

        with fsspec.open(path, "rb") as file:
            return bytes(file.read())
    except (OSError, ValueError) as error:
        raise OptionError(f"{path!r} cannot be read on the driver: {error}", option=option.name) from error
