from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path

import pytest
from kafka.protocol.metadata import MetadataRequest

from headwater.core.errors import (
    AuthenticationError,
    OptionError,
    SourceError,
)
from headwater.enumerators.kafka.client import tls
from headwater.enumerators.kafka.client.tls import TlsConfig
from local_kafka import KEY_PASSWORD, LocalKafka, TlsFiles
from tests.enumerators.kafka.client.listeners import client
from tests.enumerators.kafka.client.secured import connect, login, mutual, refused, topics, whoami
from tests.enumerators.kafka.conftest import PASSWORDS


class TestTls:
    def test_a_client_certificate_lets_in(self, secure_kafka: LocalKafka, tls_files: TlsFiles) -> None:
        topics(connect(secure_kafka.bootstrap("SSL"), **mutual(tls_files)))

    def test_pem_may_be_a_file_or_text_on_one_line_and_locked(
        self, secure_kafka: LocalKafka, tls_files: TlsFiles, tmp_path: Path
    ) -> None:
        one_line = {
            "ssl_truststore_certificates": tls_files.ca.read_text().replace("\n", " "),
            "ssl_keystore_key": tls_files.client_key_encrypted.read_text().replace("\n", "\\n"),
            "ssl_key_password": KEY_PASSWORD,
        }
        topics(
            connect(
                secure_kafka.bootstrap("SSL"),
                **{**mutual(tls_files), "ssl_truststore_location": "", **one_line},
            )
        )
        both = tmp_path / "both.pem"
        both.write_text(tls_files.client_key_encrypted.read_text() + tls_files.client_cert.read_text())
        as_file = {"ssl_keystore_location": str(both), "ssl_key_password": KEY_PASSWORD}
        trust = {
            name: value
            for name, value in mutual(tls_files).items()
            if "keystore_key" not in name and "chain" not in name
        }
        topics(connect(secure_kafka.bootstrap("SSL"), **trust, **as_file))

    def test_no_client_certificate_where_one_is_required(
        self, secure_kafka: LocalKafka, tls_files: TlsFiles
    ) -> None:
        trust = {
            "security_protocol": "SSL",
            "ssl_truststore_type": "PEM",
            "ssl_truststore_location": str(tls_files.ca),
        }
        for version in ("TLSv1.2", "TLSv1.3"):
            message = refused(
                connect(secure_kafka.bootstrap("SSL"), **trust, ssl_enabled_protocols=version),
                AuthenticationError,
            )
            assert "it refused our certificate, or the lack of one" in message

    def test_an_authority_that_is_not_trusted(self, secure_kafka: LocalKafka, tls_files: TlsFiles) -> None:
        for other in ({"ssl_truststore_location": str(tls_files.other_ca)}, {"ssl_truststore_location": ""}):
            message = refused(
                connect(secure_kafka.bootstrap("SSL"), **{**mutual(tls_files), **other}), AuthenticationError
            )
            assert "its certificate is not trusted" in message
            assert "kafka.ssl.truststore.location" in message

    def test_the_hosts_name_is_checked_unless_told_not_to(
        self, secure_kafka: LocalKafka, tls_files: TlsFiles
    ) -> None:
        other_name = secure_kafka.bootstrap("SSL").replace("localhost", "127.0.0.1")
        assert "IP address mismatch" in refused(connect(other_name, **mutual(tls_files)), AuthenticationError)
        topics(connect(other_name, ssl_endpoint_identification_algorithm="", **mutual(tls_files)))

    def test_a_client_without_tls_is_told_so(self, secure_kafka: LocalKafka) -> None:
        message = refused(connect(secure_kafka.bootstrap("SSL")), SourceError)
        assert "speaks TLS there: set kafka.security.protocol to SSL or SASL_SSL" in message

    def test_large_answers_come_through(self, secure_kafka: LocalKafka, tls_files: TlsFiles) -> None:
        """More than one TLS record (16 KB)."""
        trust = {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(tls_files.ca)}
        connection = connect(
            secure_kafka.bootstrap("SASL_SSL"),
            **trust,
            **login("SCRAM-SHA-256", "alice", PASSWORDS["alice"], "SASL_SSL"),
        )
        names = [f"{index:0>200}" for index in range(300)]
        response = connection.call(
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in names])
        )
        assert sorted(topic.name for topic in response.topics) == names
        transport = connection._transport
        connection.call(whoami())
        assert connection._transport is transport, "what TLS itself has to say is not taken for the end"
        connection.close()

    @pytest.mark.parametrize(
        ("broken", "option"),
        [
            ({"ssl_truststore_location": "/no/such/file"}, "kafka.ssl.truststore.location"),
            ({"ssl_truststore_location": os.devnull}, "kafka.ssl.truststore.location"),
            (
                {"ssl_truststore_location": "", "ssl_truststore_certificates": "hunter2"},
                "kafka.ssl.truststore.certificates",
            ),
            ({"ssl_keystore_key": "hunter2"}, "kafka.ssl.keystore.key"),
            ({"ssl_keystore_key": "{locked}", "ssl_key_password": "hunter2"}, "kafka.ssl.keystore.key"),
            ({"ssl_keystore_key": "{locked}"}, "kafka.ssl.keystore.key"),
            ({"ssl_keystore_key": "{other}"}, "kafka.ssl.keystore.key"),
        ],
    )
    def test_files_and_texts_that_are_no_pem_name_their_option(
        self, tls_files: TlsFiles, broken: dict[str, str], option: str
    ) -> None:
        texts = {
            "{locked}": tls_files.client_key_encrypted.read_text(),
            "{other}": tls_files.server.read_text().partition("-----BEGIN CERT")[0],
        }
        properties = {
            **mutual(tls_files),
            **{name: texts.get(value, value) for name, value in broken.items()},
        }
        assert f"'{option}'" in refused(connect("127.0.0.1:1", **properties), OptionError)

    def test_a_key_given_as_text_is_gone_from_the_disk(
        self, tls_files: TlsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        config = client("a:1", **mutual(tls_files)).tls
        assert config is not None
        tls.ssl_context(config)
        assert not list(tmp_path.iterdir())

    def test_certificates_keep_their_meaning_on_one_line(self) -> None:
        body = base64.b64encode(bytes(range(100))).decode()
        wrapped = f"-----BEGIN X-----\n{body[:64]}\n{body[64:128]}\n{body[128:]}\n-----END X-----"
        for spoilt in (
            f"-----BEGIN X-----{body}-----END X-----",
            wrapped.replace("\n", " "),
            wrapped.replace("\n", "\\n"),
            wrapped,
            f"text\n{wrapped}\n",
        ):
            assert tls._with_line_breaks(spoilt) == wrapped

    def test_only_the_versions_asked_for_are_offered(self) -> None:
        context = tls.ssl_context(TlsConfig(protocols=("TLSv1.2",)))
        assert context.minimum_version == context.maximum_version
