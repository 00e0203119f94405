"""Secrets and certificates as users write them: the text itself, or where it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headwater.core.errors import AuthenticationError, SourceError
from headwater.core.options import Spec, option, text
from headwater.core.redaction import keep_secret

if TYPE_CHECKING:
    import ssl


_ENVIRONMENT = "env:"
_FILE = "file:"


def is_elsewhere(written: str) -> bool:
    """Whether a text says where a secret is, and is not the secret itself."""
    return written.startswith((_ENVIRONMENT, _FILE))


def kept_secret(written: str, what: str) -> str:
    """Return a secret as `resolved_secret` does, which no error and no log line shows from now on."""
    secret = resolved_secret(written, what)
    keep_secret(secret)
    return secret


def resolved_secret(written: str, what: str) -> str:
    """Return a secret, or something else that may be written as one: what is a secret is `kept_secret`.

    Called where the secret is used, on the driver or on an executor: only where it lies is sent there.

    Args:
        written: ``env:NAME`` for an environment variable or ``file:PATH`` for the content of a file, both
            without white space around it, or the secret itself.
        what: the secret's name in errors.

    Raises:
        SourceError: the variable is not set, or the file cannot be read, on this host.
    """
    if written.startswith(_ENVIRONMENT):
        name = written.removeprefix(_ENVIRONMENT)
        if name not in os.environ:
            raise SourceError(f"{what}: the environment variable {name} is not set in this process")
        return os.environ[name].strip()
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


_OF_CERTIFICATE: Final = (
    *("BAD_CERTIFICATE", "CERTIFICATE_EXPIRED", "CERTIFICATE_REQUIRED", "CERTIFICATE_REVOKED"),
    *("CERTIFICATE_UNKNOWN", "UNKNOWN_CA", "UNSUPPORTED_CERTIFICATE"),
)
"""Alerts of a server about the certificate of this client, or the lack of one."""
_OF_PROTOCOL: Final = (
    *("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION"),
    *("HANDSHAKE_FAILURE", "NO_SHARED_CIPHER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"),
)
"""Two sides that have no way to speak with each other."""


def lasting_tls_failure(error: BaseException) -> tuple[type[SourceError], str] | None:
    """Return what no waiting mends: a certificate that is not accepted, or a port that speaks no such TLS.

    Args:
        error: of a connection. Libraries wrap the error of TLS in their own.

    Returns:
        The kind of error and its reason; None: it may pass.
    """
    import ssl

    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = getattr(cause, "verify_message", str(cause)).rstrip(".")
            return AuthenticationError, f"its certificate is not trusted: {why}"
        reason = str(getattr(cause, "reason", None)) if isinstance(cause, ssl.SSLError) else ""
        if "ALERT" in reason and any(alert in reason for alert in _OF_CERTIFICATE):
            return AuthenticationError, f"it refuses the certificate of this client, or its lack ({reason})"
        if any(name in reason for name in _OF_PROTOCOL):
            return SourceError, f"it does not speak TLS there, or not a version of it in common ({reason})"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors in it: as causes, contexts, arguments and reasons."""
    waiting = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        inner = (cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args)
        waiting += [each for each in inner if isinstance(each, BaseException)]


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one without a password")
