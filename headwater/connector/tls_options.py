"""The options of sources about TLS: `tlsCa`, `tlsCertificate`, `tlsKey`."""

from __future__ import annotations

from typing import Final

from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, text
from headwater.core.secrets import TlsSettings

_CA: Final = Option(
    "tlsCa",
    text,
    None,
    "The certificates to trust: a PEM file on every host that connects, PEM itself, or `env:NAME`.",
    shown_default="the system's",
)
_CERTIFICATE: Final = Option("tlsCertificate", text, None, "The certificate of this client, in the same way.")
_KEY: Final = Option(
    "tlsKey",
    text,
    None,
    "Its key, in the same way, without a password.",
    shown_default="in `tlsCertificate`",
)

TLS_OPTIONS: Final = (_CA, _CERTIFICATE, _KEY)


def tls_settings(options: ParsedOptions, *, encrypted: bool, hint: str) -> TlsSettings:
    """Return whom to trust, and who this client is.

    Args:
        options: of a table with `TLS_OPTIONS`.
        encrypted: whether any connection is.
        hint: what makes it so, for the error.

    Raises:
        OptionError: an option counts for nothing.
    """
    for option in TLS_OPTIONS:
        if options[option] is not None and not encrypted:
            raise OptionError(f"counts only with {hint}", option=option.name)
    if options[_KEY] is not None and options[_CERTIFICATE] is None:
        raise OptionError(f"counts only with option {_CERTIFICATE.name!r}", option=_KEY.name)
    return TlsSettings(
        ca=options[_CA],
        certificate=options[_CERTIFICATE],
        key=options[_KEY],
        options=(_CA.name, _CERTIFICATE.name, _KEY.name),
    )
