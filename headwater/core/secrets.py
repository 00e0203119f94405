"""Secrets and certificates as users write them: the text itself, or where it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.core.errors import SourceError
from headwater.core.options import Spec, option, text

if TYPE_CHECKING:
    import ssl


_ENVIRONMENT = "env:"
_FILE = "file:"


def is_elsewhere(written: str) -> bool:
    """Whether a text says where a secret is, and is not the secret itself."""
    return written.startswith((_ENVIRONMENT, _FILE))


def resolved_secret(written: str, what: str) -> str:
    """Return a secret.

    Called where the secret is used, on the driver or on an executor: only where it lies is sent there.

    Args:
        written: ``env:NAME`` for an environment variable, ``file:PATH`` for the content of a file, without
            white space around it, or the secret itself.
        what: the secret's name in errors.

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


_PEM = "-----BEGIN "


class TlsSettings(Spec):
    """Immutable and picklable. Each is the path of a PEM file, PEM itself, or as `resolved_secret` takes it.

    A source whose options have other names declares the three fields again.
    """

    ca: str | None = option(
        "tlsCa",
        "The certificates to trust: a PEM file on every host that connects, PEM itself, or `env:NAME`.",
        default=None,
        parse=text,
        shown_default="the system's",
    )
    certificate: str | None = option(
        "tlsCertificate", "The certificate of this client, in the same way.", default=None, parse=text
    )
    key: str | None = option(
        "tlsKey",
        "Its key, in the same way, without a password.",
        default=None,
        parse=text,
        shown_default="in `tlsCertificate`",
    )

    def __post_init__(self) -> None:
        if self.key is not None and self.certificate is None:
            raise self.refusal("key", f"requires option {self.OPTIONS['certificate'].name!r}")

    def check_counts(self, *, encrypted: bool, hint: str) -> None:
        """Refuse settings that count for nothing.

        Args:
            encrypted: whether any connection is.
            hint: the condition for it, for the error.

        Raises:
            OptionError: one is given, and no connection is encrypted.
        """
        for name in self.OPTIONS:
            if getattr(self, name) is not None and not encrypted:
                raise self.refusal(name, f"requires {hint}")

    def context(self) -> ssl.SSLContext:
        """Return the context of connections. Called on the host that connects.

        Raises:
            SourceError: a file cannot be read, or holds no certificate or key.
        """
        import ssl

        names = [each.name for each in self.options()]
        try:
            context = ssl.create_default_context()
            if self.ca is not None:
                context = ssl.create_default_context(cadata=self._text("ca"))
            if self.certificate is not None:
                with _as_file(self._text("certificate")) as certificate:
                    if self.key is None:
                        context.load_cert_chain(certificate, password=_no_password)
                    else:
                        with _as_file(self._text("key")) as key:
                            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise SourceError(
                f"what the options {', '.join(names[:2])} and {names[2]} name does not go "
                f"together, or is not PEM: {error}"
            ) from error
        return context

    def _text(self, name: str) -> str:
        written: str = getattr(self, name)
        if written.lstrip().startswith(_PEM):
            return written
        what = f"option {self.OPTIONS[name].name!r}"
        resolved = resolved_secret(written, what)
        return resolved if resolved.lstrip().startswith(_PEM) else resolved_secret(f"file:{resolved}", what)


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Python loads keys from files only: from one that only this user may read, and that is deleted soon."""
    import tempfile

    descriptor, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        yield path
    finally:
        os.unlink(path)  # noqa: PTH108 - the counterpart of mkstemp


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one without a password")
