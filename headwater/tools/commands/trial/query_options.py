"""The options of the query that is tried, from a file and the command line; secrets may be elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from headwater.core.errors import OptionError
from headwater.core.secrets import is_elsewhere, kept_secret

_PATHS: Final = frozenset({"path", "paths", "basepath", "sourcearchivedir", "badrecordspath"})
"""Options that are paths themselves: ``file:/data`` is one."""


def query_options(file: str | None, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the options of a source, keys in lower case.

    A value ``env:NAME`` is that of an environment variable, ``file:PATH`` the content of a file. Neither is
    shown from then on, in errors or in the output.

    Args:
        file: with an option in each line, ``name=value``; lines that are empty or begin with ``#`` count for
            nothing. None: there is none.
        pairs: on the command line; they beat those of the file.

    Raises:
        OptionError: the file cannot be read, or a line of it is no option.
        SourceError: a variable is not set, or a file of a secret cannot be read.
    """
    written = {**(_of_file(file) if file else {}), **{name.lower(): value for name, value in pairs}}
    return {
        name: kept_secret(value, f"option {name!r}") if _is_secret(name, value) else value
        for name, value in written.items()
    }


def _is_secret(name: str, value: str) -> bool:
    return name not in _PATHS and is_elsewhere(value)


def _of_file(file: str) -> Mapping[str, str]:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{file} cannot be read: {error}", option="--options-file") from error
    options = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            # The line is not shown: it may be a secret without its name.
            raise OptionError(f"{file}, line {number}, is not name=value", option="--options-file")
        options[name.strip().lower()] = value.strip()
    return options
