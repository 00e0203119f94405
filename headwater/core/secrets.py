"""Secrets as users write them: the text itself, or where it is."""

from __future__ import annotations

import os
from pathlib import Path

from headwater.core.errors import SourceError

_ENVIRONMENT = "env:"
_FILE = "file:"


def is_elsewhere(written: str) -> bool:
    """Whether a text says where a secret is, and is not the secret itself."""
    return written.startswith((_ENVIRONMENT, _FILE))


def resolved_secret(written: str, what: str) -> str:
    """Return a secret.

    Called where the secret is used, on the driver or on an executor: only where it lies is sent there.

    Args:
        written: ``env:NAME`` for an environment variable, ``file:PATH`` for what is in a file, without
            white space around it, or the secret itself.
        what: names the secret in errors.

    Raises:
        SourceError: the variable is not set, or the file cannot be read, on this host.
    """
    if written.startswith(_ENVIRONMENT):
        name = written.removeprefix(_ENVIRONMENT)
        if name not in os.environ:
            raise SourceError(f"{what}: the environment variable {name} is not set in this process")
        return os.environ[name]
    if written.startswith(_FILE):
        path = Path(written.removeprefix(_FILE))
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"{what}: {path} cannot be read on this host: {error}") from error
    return written
