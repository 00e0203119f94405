"""TLS as users set it up: whom to trust, and who this client is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import SourceError
from headwater.core.secrets import resolved_secret

if TYPE_CHECKING:
    import ssl

_PEM = "-----BEGIN "


@dataclass(frozen=True, kw_only=True)
class TlsSettings:
    """Immutable and picklable. Each is the path of a PEM file, PEM itself, or as `resolved_secret` takes it.

    Attributes:
        ca: the certificates to trust; None: those of the system.
        certificate: of this client, with those between it and a trusted one.
        key: of that certificate; None: it is in the same file.
        options: the names of the user's options for the three, for errors.
    """

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    options: tuple[str, str, str] = ("ca", "certificate", "key")

    def context(self) -> ssl.SSLContext:
        """Return what connections are made with. Called on the host that connects.

        Raises:
            SourceError: a file cannot be read, or holds no certificate or key.
        """
        import ssl

        try:
            context = ssl.create_default_context()
            if self.ca is not None:
                context = ssl.create_default_context(cadata=self._text(self.ca, self.options[0]))
            if self.certificate is not None:
                with _as_file(self._text(self.certificate, self.options[1])) as certificate:
                    if self.key is None:
                        context.load_cert_chain(certificate, password=_no_password)
                    else:
                        with _as_file(self._text(self.key, self.options[2])) as key:
                            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise SourceError(
                f"what the options {', '.join(self.options[:2])} and {self.options[2]} name does not go "
                f"together, or is not PEM: {error}"
            ) from error
        return context

    def _text(self, written: str, option: str) -> str:
        if written.lstrip().startswith(_PEM):
            return written
        what = f"option {option!r}"
        resolved = resolved_secret(written, what)
        return resolved if resolved.lstrip().startswith(_PEM) else resolved_secret(f"file:{resolved}", what)


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Python loads keys from files only: from one that nobody else may read, and that is gone soon."""
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
