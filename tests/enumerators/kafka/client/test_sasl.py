from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import (
    AuthenticationError,
    OptionError,
    TransientSourceError,
)
from headwater.enumerators.kafka.client import sasl
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.sasl_config import SaslConfig
from local_kafka import LocalKafka, TlsFiles, unsecured_token
from tests.enumerators.kafka.client.listeners import client
from tests.enumerators.kafka.client.secured import MODULES, connect, login, refused, topics, whoami
from tests.enumerators.kafka.conftest import PASSWORDS

MECHANISMS = list(MODULES)
PROVIDER = f"{__name__}:token"
_tokens: list[Callable[[], object]] = []


def token() -> object:
    return _tokens[-1]()


@pytest.fixture
def give_token() -> Iterator[Callable[[Callable[[], object]], None]]:
    yield _tokens.append
    _tokens.clear()


class TestSasl:
    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_the_right_password_lets_in(self, secure_kafka: LocalKafka, mechanism: str) -> None:
        topics(
            connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **login(mechanism, "alice", PASSWORDS["alice"]))
        )

    @pytest.mark.parametrize("mechanism", MECHANISMS)
    @pytest.mark.parametrize("user", ["alice", "nobody"])
    def test_a_wrong_one_is_an_authentication_error_at_once(
        self, secure_kafka: LocalKafka, mechanism: str, user: str
    ) -> None:
        message = refused(
            connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **login(mechanism, user, "hunter2")),
            AuthenticationError,
        )
        assert message.startswith(f"{mechanism} log-in to the Kafka broker 127.0.0.1:")
        assert f"as '{user}' failed: " in message
        assert "kafka.sasl.jaas.config" in message

    def test_a_user_and_a_password_are_options_too(self, secure_kafka: LocalKafka) -> None:
        options = {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": "bob",
        }
        topics(connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **options, sasl_password=PASSWORDS["bob"]))
        message = refused(
            connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **options, sasl_password="hunter2"),
            AuthenticationError,
        )
        assert "kafka.sasl.username and kafka.sasl.password" in message

    def test_it_works_inside_tls(self, secure_kafka: LocalKafka, tls_files: TlsFiles) -> None:
        trust = {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(tls_files.ca)}
        topics(
            connect(
                secure_kafka.bootstrap("SASL_SSL"),
                **trust,
                **login("SCRAM-SHA-256", "alice", PASSWORDS["alice"], "SASL_SSL"),
            )
        )

    def test_a_listener_without_sasl_is_named(self, secure_kafka: LocalKafka) -> None:
        message = refused(
            connect(secure_kafka.bootstrap("PLAINTEXT"), **login("PLAIN", "alice", "hunter2")),
            AuthenticationError,
        )
        assert "this listener knows no SASL; mend kafka.security.protocol" in message

    def test_a_mechanism_that_the_broker_lacks_is_named_with_those_that_it_has(
        self, secure_kafka: LocalKafka, tls_files: TlsFiles
    ) -> None:
        trust = {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(tls_files.ca)}
        connection = connect(
            secure_kafka.bootstrap("SASL_SSL"),
            **trust,
            **login("PLAIN", "alice", PASSWORDS["alice"], "SASL_SSL"),
        )
        assert "the broker offers SCRAM-SHA-256; mend kafka.sasl.mechanism" in refused(
            connection, AuthenticationError
        )

    def test_no_sasl_where_the_listener_wants_it_is_told(self, secure_kafka: LocalKafka) -> None:
        message = refused(connect(secure_kafka.bootstrap("SASL_PLAINTEXT")), TransientSourceError)
        assert "if it always does this, kafka.security.protocol does not fit the listener" in message

    def test_a_session_is_renewed_between_answers_before_it_ends(self, secure_kafka: LocalKafka) -> None:
        """KIP-368. The broker gives an hour."""
        settings = client(
            secure_kafka.bootstrap("SASL_PLAINTEXT"), **login("PLAIN", "alice", PASSWORDS["alice"])
        )
        clock = ManualClock()
        connection = BrokerConnection(settings.bootstrap_servers[0], settings, clock)
        connection.call(whoami())
        first = connection.fileno(), connection._transport
        clock.advance(3_600_000 * 84 // 100)
        connection.call(whoami())
        assert (connection.fileno(), connection._transport) == first
        clock.advance(3_600_000 * 2 // 100)
        connection.call(whoami())
        assert connection._transport is not first[1]
        clock.advance(3_600_000 * 86 // 100)
        connection.send(whoami())
        second = connection._transport
        connection.send(whoami())
        assert connection._transport is not first[1]
        assert connection._transport is second, "answers in flight are waited for"
        connection.close()

    def test_nothing_is_logged_about_credentials(
        self, secure_kafka: LocalKafka, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG):
            for mechanism in MECHANISMS:
                topics(
                    connect(
                        secure_kafka.bootstrap("SASL_PLAINTEXT"),
                        **login(mechanism, "alice", PASSWORDS["alice"]),
                    )
                )
        assert PASSWORDS["alice"] not in caplog.text

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (b"", ""),
            (b"r=other,s=eA==,i=4096", ""),
            (b"r={nonce},i=4096", ""),
            (b"r={nonce},s=eA==,i=lots", ""),
            (b"\xff", ""),
            (None, ""),
            (b"r={nonce},s=eA==,i=4095", ".*4095 iterations, fewer than 4096"),
            (b"r={nonce},s=eA==,i=-1", ".*-1 iterations"),
            (b"r={nonce},s=eA==,i=4096,i=1", ".*1 iterations"),
            (b"r={nonce},s=eA==,i=1000001", ".*too large"),
        ],
    )
    def test_a_server_that_cannot_be_who_it_says_or_asks_too_little_is_refused(
        self, answer: bytes | None, reason: str
    ) -> None:
        def ask(request: Any) -> Any:
            if request.name == "SaslHandshakeRequest":
                return Response(error_code=0, mechanisms=["SCRAM-SHA-256"])
            nonce = request.auth_bytes.rpartition(b"r=")[2]
            challenge = answer and answer.replace(b"{nonce}", nonce + b"more")
            return Response(error_code=0, auth_bytes=challenge, session_lifetime_ms=0)

        with pytest.raises(AuthenticationError, match=f"the broker's answer proves nothing{reason}"):
            sasl.authenticate(
                ask, SaslConfig("SCRAM-SHA-256", "alice", "hunter2"), client("a:1").bootstrap_servers[0]
            )

    def test_scram_names_are_escaped(self) -> None:
        """RFC 5802: a comma and an equals sign would end the name."""
        assert (
            b"n=a=2Cb=3Dc,r=" in sasl._mechanism(SaslConfig("SCRAM-SHA-256", "a,b=c", "hunter2")).auth_bytes()
        )


class TestOauthbearer:
    OPTIONS = {  # noqa: RUF012
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_provider": PROVIDER,
    }

    def test_a_token_of_the_users_function_lets_in(self, secure_kafka: LocalKafka, give_token: Any) -> None:
        give_token(lambda: unsecured_token("alice"))
        topics(connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **self.OPTIONS))

    def test_a_token_that_is_over_is_refused(self, secure_kafka: LocalKafka, give_token: Any) -> None:
        give_token(lambda: unsecured_token("alice", lifetime_s=-3600))
        message = refused(
            connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **self.OPTIONS), AuthenticationError
        )
        assert "OAUTHBEARER log-in" in message
        assert "kafka.sasl.oauthbearer.token.provider" in message

    @pytest.mark.parametrize("returned", [None, b"bytes", "", 5])
    def test_something_that_is_no_token_is_named(
        self, secure_kafka: LocalKafka, give_token: Any, returned: object
    ) -> None:
        give_token(lambda: returned)
        message = refused(
            connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **self.OPTIONS), AuthenticationError
        )
        assert f"{PROVIDER} returned {type(returned).__name__}, not a token (str)" in message

    def test_a_function_that_fails_is_named_without_what_it_said(
        self, secure_kafka: LocalKafka, give_token: Any
    ) -> None:
        give_token(lambda: PASSWORDS["hunter2"])
        message = refused(
            connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **self.OPTIONS), AuthenticationError
        )
        assert f"{PROVIDER} raised KeyError" in message

    def test_a_function_may_say_that_it_is_worth_asking_again(
        self, secure_kafka: LocalKafka, give_token: Any
    ) -> None:
        def away() -> str:
            raise TransientSourceError("the token endpoint is away")

        give_token(away)
        assert "token endpoint" in refused(
            connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **self.OPTIONS), TransientSourceError
        )

    @pytest.mark.parametrize("provider", ["no_such_module_here:f", f"{__name__}:no_such_function"])
    def test_a_function_that_cannot_be_loaded_is_an_option_error(
        self, secure_kafka: LocalKafka, provider: str
    ) -> None:
        options = {**self.OPTIONS, "sasl_oauthbearer_token_provider": provider}
        message = refused(connect(secure_kafka.bootstrap("SASL_PLAINTEXT"), **options), OptionError)
        assert f"{provider} cannot be loaded in this process" in message

    def test_extensions_go_with_the_token(self, give_token: Any) -> None:
        give_token(lambda: "t")
        mechanism = sasl._mechanism(
            SaslConfig("OAUTHBEARER", token_provider=PROVIDER, extensions=(("logicalCluster", "lkc-1"),))
        )
        assert mechanism.auth_bytes() == b"n,,\x01auth=Bearer t\x01logicalCluster=lkc-1\x01\x01"


class Response:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)
