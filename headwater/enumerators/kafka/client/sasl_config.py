"""SASL as settings, by the ``sasl.*`` properties, ``sasl.jaas.config`` among them.

Checked on the driver. Reads no file and needs no library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.core.errors import OptionError
from headwater.enumerators.kafka.client import entra, msk_iam
from headwater.enumerators.kafka.client.entra import EntraId
from headwater.enumerators.kafka.client.msk_iam import MskIam

_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    msk_iam.MECHANISM: "IAMLoginModule",
    entra.MECHANISM: "OAuthBearerLoginModule",
}
_REFUSED = {
    "GSSAPI": "Kerberos needs a ticket cache and a native library on every executor; "
    "use SCRAM, OAUTHBEARER or client certificates",
}
OF_CLOUDS = frozenset({msk_iam.MECHANISM, entra.MECHANISM})
"""Mechanisms that say of themselves that a log-in is meant, whatever ``security.protocol`` is."""
_KNOWN_MODULES = frozenset({*_MODULES.values(), "Krb5LoginModule"})
"""Other names are not shown: they may be secrets in the wrong place."""

_IAM_OAUTH = msk_iam.CALLBACK_HANDLERS[1]
_JAAS_OPTION = "kafka.sasl.jaas.config"
_JAAS_FLAGS = ("required", "requisite", "sufficient", "optional")
_JAAS_TOKEN = re.compile(r"""
      (?P<blank> \s+ | //[^\n]* | /\*.*?\*/ )
    | "(?P<double> (?: [^"\\\n] | \\. )* )"
    | '(?P<single> (?: [^'\\\n] | \\. )* )'
    | (?P<mark> [=;] )
    | (?P<word> (?: [^\s=;"'/] | /(?![/*]) )+ )
""", re.VERBOSE | re.DOTALL)  # fmt: skip
_JAAS_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROL_CHARACTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """How to log in. Its repr shows no secret.

    Attributes:
        mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.
        username: for PLAIN and SCRAM.
        password: for PLAIN and SCRAM, as `headwater.core.secrets.resolved_secret` takes it.
        token_provider: ``package.module:function``, for OAUTHBEARER.
        extensions: SASL extensions (KIP-342), for OAUTHBEARER.
        cloud: where tokens of a cloud come from, for OAUTHBEARER instead of a token provider.
        option: the option that holds the credentials, for messages.
    """

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token_provider: str = ""
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cloud: MskIam | EntraId | None = None
    option: str = _JAAS_OPTION


def sasl_config(values: Mapping[str, Any], protocol: str) -> SaslConfig:
    """Join the ``sasl.*`` properties.

    Args:
        values: checked values, by property.
        protocol: ``security.protocol``, for messages.

    Raises:
        OptionError: the mechanism is not offered, or its credentials are missing, malformed or given twice.
    """
    mechanism = _mechanism(values["sasl.mechanism"], protocol)
    entry = _jaas_entry(values["sasl.jaas.config"], mechanism)
    if mechanism == msk_iam.MECHANISM or _IAM_OAUTH in _handlers(values):
        return _msk_config(values, protocol, entry)
    if _handlers(values):
        raise OptionError(
            f"{msk_iam.CALLBACK_HANDLERS[0]} goes with kafka.sasl.mechanism={msk_iam.MECHANISM}",
            option="kafka.sasl.client.callback.handler.class",
        )
    if mechanism == entra.MECHANISM:
        return _entra_config(values, protocol, entry)
    if mechanism == "OAUTHBEARER":
        return _oauth_config(values["sasl.oauthbearer.token.provider"], entry)
    return _password_config(mechanism, values["sasl.username"], values["sasl.password"], entry)


def _handlers(values: Mapping[str, Any]) -> set[str]:
    handlers = {values[f"sasl.{side}.callback.handler.class"] for side in ("client", "login")}
    return handlers - {None}


def _msk_config(values: Mapping[str, Any], protocol: str, entry: JaasEntry | None) -> SaslConfig:
    if protocol != "SASL_SSL":
        raise OptionError("Amazon MSK takes IAM with SASL_SSL only", option="kafka.security.protocol")
    if values["sasl.oauthbearer.token.provider"]:
        raise OptionError(
            f"clashes with {msk_iam.MECHANISM}, which signs tokens by itself",
            option="kafka.sasl.oauthbearer.token.provider",
        )
    options = entry.options if entry else {}
    signing = msk_iam.msk_iam(values["sasl.msk.region"], values["bootstrap.servers"], options, _JAAS_OPTION)
    return SaslConfig("OAUTHBEARER", cloud=signing)


def _entra_config(values: Mapping[str, Any], protocol: str, entry: JaasEntry | None) -> SaslConfig:
    if protocol != "SASL_SSL":
        raise OptionError("Event Hubs takes tokens with SASL_SSL only", option="kafka.security.protocol")
    for option, value in {
        "kafka.sasl.oauthbearer.token.provider": values["sasl.oauthbearer.token.provider"],
        _JAAS_OPTION: entry.options if entry else None,
    }.items():
        if value:
            raise OptionError(
                f"clashes with {entra.MECHANISM}, which asks for tokens by itself", option=option
            )
    return SaslConfig("OAUTHBEARER", cloud=entra.entra_id(values["bootstrap.servers"]))


def _mechanism(name: str | None, protocol: str) -> str:
    offered = ", ".join(_MODULES)
    if not name:
        raise OptionError(
            f"is required with kafka.security.protocol={protocol}: one of {offered}",
            option="kafka.sasl.mechanism",
        )
    if name.upper() not in _MODULES:
        # A name that Kafka does not have is not shown: it may be a secret in the wrong place.
        refused = _REFUSED.get(name.upper())
        reason = (
            f"{name.upper()} is refused: {refused}" if refused else f"is not known; offered are {offered}"
        )
        raise OptionError(reason, option="kafka.sasl.mechanism")
    return name.upper()


def _password_config(
    mechanism: str, username: str | None, password: str | None, entry: JaasEntry | None
) -> SaslConfig:
    option = "kafka.sasl.username and kafka.sasl.password"
    if entry and (username or password):
        raise OptionError(f"clashes with {option}: give one or the others", option=_JAAS_OPTION)
    if entry:
        option = _JAAS_OPTION
        username = entry.options.get("username")
        password = entry.options.get("password")
    if not username or not password:
        raise OptionError(
            f"{mechanism} needs a user and a password: {_MODULES[mechanism]} required "
            "username=... password=...; or kafka.sasl.username and kafka.sasl.password",
            option=option,
        )
    if entry and entry.options.get("tokenauth", "").lower() == "true":
        raise OptionError(
            "delegation tokens (tokenauth) are not supported; give a user and a password", option=option
        )
    return SaslConfig(mechanism, username, password, option=option)


def _oauth_config(provider: str | None, entry: JaasEntry | None) -> SaslConfig:
    option = "kafka.sasl.oauthbearer.token.provider"
    module, _, function = (provider or "").partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *function.split(".")]):
        raise OptionError(
            "OAUTHBEARER needs it: package.module:function, a function without arguments "
            "that returns a token",
            option=option,
        )
    extensions = {
        name.removeprefix("extension_"): value
        for name, value in (entry.options if entry else {}).items()
        if name.startswith("extension_")
    }
    return SaslConfig(
        "OAUTHBEARER",
        token_provider=f"{module}:{function}",
        extensions=tuple(sorted(extensions.items())),
        option=option,
    )


def _jaas_entry(written: str | None, mechanism: str) -> JaasEntry | None:
    if not written or not written.strip():
        return None
    try:
        entry = parse_jaas(written)
    except ValueError as error:
        raise OptionError(str(error), option=_JAAS_OPTION) from None
    if entry.module_name != _MODULES[mechanism]:
        handlers = entry.module_name if entry.module_name in _KNOWN_MODULES else "a module that is not known"
        raise OptionError(
            f"names {handlers}, but kafka.sasl.mechanism={mechanism} goes with {_MODULES[mechanism]}",
            option=_JAAS_OPTION,
        )
    return entry


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """A login module and its options. The options hold secrets, so the repr leaves them out.

    Attributes:
        module: the Java class, for example ``org.apache.kafka.common.security.plain.PlainLoginModule``.
        options: by name.
    """

    module: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def module_name(self) -> str:
        """The class without its package: platforms that bundle Kafka rename the package."""
        return self.module.rpartition(".")[2]


def parse_jaas(written: str) -> JaasEntry:
    """Read ``Module required name="value" ... ;`` as ``org.apache.kafka.common.security.JaasConfig`` does.

    Raises:
        ValueError: it is something else. The message shows no option's value.
    """
    tokens = _jaas_tokens(written)
    if len(tokens) < 3 or tokens[-1] != (";", True):
        raise ValueError(
            'it must be: <login module> required name="value" ... ; (with the semicolon at the end)'
        )
    module, flag, *rest = tokens[:-1]
    if module[1] or flag[1] or flag[0].lower() not in _JAAS_FLAGS:
        raise ValueError(f"after the login module comes one of {', '.join(_JAAS_FLAGS)}")
    return JaasEntry(module[0], _jaas_options(rest))


def _jaas_options(tokens: list[tuple[str, bool]]) -> dict[str, str]:
    if (";", True) in tokens:
        raise ValueError("it must hold exactly one login module")
    options = {}
    for i in range(0, len(tokens), 3):
        (name, is_mark), *rest = tokens[i : i + 3]
        if is_mark or len(rest) != 2 or rest[0] != ("=", True) or rest[1][1]:
            raise ValueError(f'its option number {i // 3 + 1} is not name="value"')
        options[name] = rest[1][0]
    return options


def _jaas_tokens(written: str) -> list[tuple[str, bool]]:
    """Return words and the marks = and ;. The bool is True for a mark, which tells it from a quoted one."""
    tokens = []
    position = 0
    while position < len(written):
        match = _JAAS_TOKEN.match(written, position)
        if match is None:
            raise ValueError("it has a quote that does not end")
        position = match.end()
        kind = match.lastgroup or ""
        if kind in ("double", "single"):
            tokens.append((_JAAS_ESCAPE.sub(_unescape, match[kind]), False))
        elif kind != "blank":
            tokens.append((match[kind], kind == "mark"))
    return tokens


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped.isdigit() and escaped < "8":
        return chr(int(escaped, 8))
    return _CONTROL_CHARACTERS.get(escaped, escaped)
