"""Texts without secrets: the user information of URLs, and the secrets of this process; and such logs.

Every error (`headwater.core.errors`) and every log line of headwater goes through `redacted`.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from itertools import chain
from typing import Final
from urllib.parse import quote, quote_plus

_USER_IN_URL: Final = re.compile(
    r"(?<=://)(?<!abfs://)(?<!abfss://)(?<!wasb://)(?<!wasbs://)[^/\s?#'\"]*@", re.IGNORECASE
)
"""Azure's URLs have the container's name there."""

LEAST_SECRET: Final = 4
"""Fewer characters are no secret, and stand in many words."""
_MOST_SECRETS: Final = 1_000
"""Tokens are renewed: the oldest are forgotten."""
_FORMATTER: Final = logging.Formatter()


class _Secrets:
    """The secrets that this process has used. Any thread may call."""

    def __init__(self) -> None:
        # Readers see one tuple or the next; writers must not lose what the other one adds.
        self._lock = threading.Lock()
        self._texts: tuple[str, ...] = ()

    def add(self, secret: str) -> None:
        forms = _forms(secret)
        with self._lock:
            if forms <= set(self._texts):
                return
            others = [each for each in self._texts[-_MOST_SECRETS:] if each not in forms]
            self._texts = (*others, *forms)

    def hidden(self, text: str) -> str:
        return _without(text, self._texts)


_SECRETS: Final = _Secrets()


def keep_secret(*secrets: str) -> None:
    """Leave these texts out of all errors and log lines of this process from now on. Any thread may call."""
    for secret in secrets:
        if len(secret) >= LEAST_SECRET:
            _SECRETS.add(secret)


def hidden_in(text: str, secrets: Iterable[str]) -> str:
    """Return a text without some secrets, which other texts may show."""
    forms = (_forms(secret) for secret in secrets if len(secret) >= LEAST_SECRET)
    return _without(text, chain.from_iterable(forms))


def without_users(text: str) -> str:
    """Return a text in which no URL has a user and a password before its host."""
    return _USER_IN_URL.sub("", text)


def redacted(text: str) -> str:
    """Return a text without the user information of URLs, and without secrets of this process."""
    return _SECRETS.hidden(without_users(text))


def _forms(secret: str) -> set[str]:
    """Return a secret as it is, and as it stands in URLs and in JSON."""
    return {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}


def _without(text: str, secrets: Iterable[str]) -> str:
    # A secret may be a part of another one.
    for secret in sorted((each for each in secrets if each in text), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


class _RedactingFilter(logging.Filter):
    """Takes out of a record what is not to be shown: of its message, and of the error that it came with."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except Exception as error:  # noqa: BLE001 - of a user's object; handlers do not raise it either
            message = f"{record.msg} (without its values: {type(error).__name__})"
        record.msg, record.args = redacted(message), None
        if record.exc_info and not record.exc_text:
            # Formatters take this text instead of making one of the error.
            record.exc_text = redacted(_FORMATTER.formatException(record.exc_info))
        return True


_FILTER: Final = _RedactingFilter()


def logger_of(name: str) -> logging.Logger:
    """Return the logger of a module, whose records are redacted.

    A filter of a logger does not see the records of those below it: so each of ours has it.
    """
    logger = logging.getLogger(name)
    logger.addFilter(_FILTER)
    return logger
