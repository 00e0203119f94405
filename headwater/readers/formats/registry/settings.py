"""Where a schema registry is, and how to speak to it."""

from __future__ import annotations

from dataclasses import field
from urllib.parse import unquote, urlsplit

from headwater.core.options import WHERE_SECRETS_ARE, Spec, duration_ms, names, option, text
from headwater.core.redaction import without_users
from headwater.core.secrets import TlsSettings


def _urls(raw: str) -> tuple[str, ...]:
    urls = names(raw)
    if not all(url.startswith(("http://", "https://")) for url in urls):
        raise ValueError(f"must be URLs such as http://host:8081, with commas between them, not {raw!r}")
    if len({urlsplit(url).netloc.rpartition("@")[0] for url in urls}) > 1:
        raise ValueError("must have the same user and password in each URL, or in none")
    return urls


class RegistryTls(TlsSettings):
    """Whom to trust, and who this client is, by the names of Confluent's options."""

    ca: str | None = option(
        "schema.registry.ssl.ca.location",
        "A PEM file of the certificates to trust, there where it is used.",
        default=None,
        parse=text,
        shown_default="the system's",
    )
    certificate: str | None = option(
        "schema.registry.ssl.certificate.location",
        "A PEM file of this client's certificate.",
        default=None,
        parse=text,
    )
    key: str | None = option(
        "schema.registry.ssl.key.location",
        "A PEM file of its key, without a password.",
        default=None,
        parse=text,
        shown_default="in the same file",
    )


class RegistrySettings(Spec):
    """Immutable, hashable and picklable: sent to executors, where one client serves all tasks of a process.

    Attributes:
        tls: whom to trust.
        timeout_ms: for connecting, and for each read.
    """

    urls: tuple[str, ...] = option(
        "schema.registry.url",
        "Where the schema registry is, which speaks Confluent's REST API; several addresses of one registry "
        "with commas between them. Required for `confluent-avro`, `confluent-protobuf`, `debezium-avro`, and "
        "for `confluent-json` without a schema.",
        default=(),
        parse=_urls,
        shown_default="",
        kind="names",
        is_secret=True,
    )
    user_info: str | None = option(
        "schema.registry.basic.auth.user.info",
        f"`user:password` for basic authentication. {WHERE_SECRETS_ARE}",
        default=None,
        parse=text,
        is_secret=True,
    )
    token: str | None = option(
        "schema.registry.bearer.auth.token",
        f"A bearer token. {WHERE_SECRETS_ARE}",
        default=None,
        parse=text,
        is_secret=True,
    )
    tls: RegistryTls = field(default_factory=RegistryTls, repr=False)
    timeout_ms: int = 10_000
    deadline_ms: int = option(
        "schema.registry.deadlineMs",
        "For how long a registry that is away, or does not know an id yet, is asked again.",
        default=120_000,
        parse=duration_ms,
        after="schema.registry.ssl.key.location",
    )

    def __post_init__(self) -> None:
        if self.user_info is not None and self.token is not None:
            raise self.refusal("token", f"goes not together with option {self.OPTIONS['user_info'].name!r}")
        if self._user_in_url is not None and (self.user_info is not None or self.token is not None):
            other = self.OPTIONS["token" if self.user_info is None else "user_info"].name
            raise self.refusal(
                "urls", f"holds a user and password, and goes not together with option {other!r}"
            )

    @property
    def addresses(self) -> tuple[str, ...]:
        """The URLs as they are asked and shown: without a user and password."""
        return tuple(map(without_users, self.urls))

    @property
    def credentials(self) -> str | None:
        """``user:password``, or where that is; None if there is none. The URL may hold it, too."""
        return self.user_info if self._user_in_url is None else self._user_in_url

    @property
    def _user_in_url(self) -> str | None:
        user, at, _ = urlsplit(self.urls[0]).netloc.rpartition("@") if self.urls else ("", "", "")
        return unquote(user) if at else None


REGISTRY_OPTIONS = (*RegistrySettings.options(), *RegistryTls.options())
