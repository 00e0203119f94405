from __future__ import annotations

import logging
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.core.errors import OptionError
from headwater.enumerators.kafka.client import client_config
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.properties import PROPERTIES
from headwater.enumerators.kafka.client.property_kinds import Ignored, Refused
from tests.patience import PATIENCE_S

LOGIN = 'username="alice" password="hunter2"'
PLAIN_JAAS = f"org.apache.kafka.common.security.plain.PlainLoginModule required {LOGIN};"
SCRAM_JAAS = f"kafkashaded.org.apache.kafka.common.security.scram.ScramLoginModule required {LOGIN};"
OAUTH_JAAS = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'extension_logicalCluster="lkc-1" clientId="me";'
)
SECRETS = ("hunter2", "key-of-ours", "key-password")


@pytest.fixture(autouse=True)
def _nothing_logged_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(client_config, "_logged", set())
    return iter(())


def config(**properties: str) -> ClientConfig:
    options = {f"kafka.{name.replace('_', '.')}": value for name, value in properties.items()}
    return ClientConfig.from_options({"kafka.bootstrap.servers": "a:1", **options})


def refusal(**properties: str) -> str:
    with pytest.raises(OptionError) as caught:
        config(**properties)
    assert not any(secret in str(caught.value) for secret in SECRETS)
    return str(caught.value)


def test_only_the_servers_are_required() -> None:
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers.*host:port"):
        ClientConfig.from_options({"subscribe": "orders"})
    assert config() == ClientConfig(bootstrap_servers=(BrokerAddress("a", 1),))


@pytest.mark.parametrize(
    ("written", "addresses"),
    [
        ("a:1", [("a", 1)]),
        (" a:1 , b.c:65535,", [("a", 1), ("b.c", 65_535)]),
        ("[::1]:9092", [("::1", 9092)]),
        ("SASL_SSL://a:1", [("a", 1)]),
    ],
)
def test_servers_are_read_as_kafka_reads_them(written: str, addresses: list[tuple[str, int]]) -> None:
    assert config(bootstrap_servers=written).bootstrap_servers == tuple(
        BrokerAddress(*address) for address in addresses
    )


@pytest.mark.parametrize("written", ["", ",", "a", "a:", ":1", "a:0", "a:65536", "a:b", "a:1;b:2", "a:²"])
def test_servers_that_are_none_are_refused(written: str) -> None:
    assert "kafka.bootstrap.servers" in refusal(bootstrap_servers=written)


def test_values_are_mapped() -> None:
    mapped = config(
        client_rack="r1",
        isolation_level="READ_COMMITTED",
        fetch_max_bytes="7",
        check_crcs="False",
        request_timeout_ms=" 5 ",
        receive_buffer_bytes="-1",
    )
    assert mapped.client_rack == "r1"
    assert mapped.read_committed
    assert (
        mapped.fetch_max_bytes,
        mapped.check_crcs,
        mapped.request_timeout_ms,
        mapped.receive_buffer_bytes,
    ) == (7, False, 5, -1)
    assert config(fetch_min_bytes="0").fetch_min_bytes == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fetch_min_bytes", "-1"),
        ("fetch_min_bytes", "one"),
        ("fetch_max_bytes", "2147483648"),
        ("receive_buffer_bytes", "-2"),
        ("isolation_level", "serializable"),
        ("check_crcs", "yes"),
        ("security_protocol", "TLS"),
        ("client_dns_lookup", "resolve_canonical_bootstrap_servers_only"),
        ("ssl_enabled_protocols", "TLSv1.1"),
        ("ssl_enabled_protocols", ","),
    ],
)
def test_a_value_out_of_range_names_its_option(name: str, value: str) -> None:
    assert f"'kafka.{name.replace('_', '.')}'" in refusal(**{name: value})


def test_names_are_taken_in_any_case_as_spark_lowers_them() -> None:
    options = {
        "KAFKA.Bootstrap.Servers": "a:1",
        "Kafka.Fetch.Min.Bytes": "5",
        "kafkaConsumer.pollTimeoutMs": "3",
    }
    assert ClientConfig.from_options(options).fetch_min_bytes == 5


def test_an_unknown_property_names_the_nearest() -> None:
    assert "did you mean kafka.fetch.min.bytes?" in refusal(fetch_min_byte="5")
    assert "docs/kafka-properties.md" in refusal(xyzzy="5")


@pytest.mark.parametrize(
    "name", [name for name, treatment in PROPERTIES.items() if isinstance(treatment, Refused)]
)
def test_a_refused_property_says_what_to_do(name: str) -> None:
    with pytest.raises(OptionError, match="is refused: ") as caught:
        ClientConfig.from_options({"kafka.bootstrap.servers": "a:1", f"kafka.{name}": "x"})
    assert caught.value.option == f"kafka.{name}"


def test_ignored_properties_are_named_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    ignored = {
        f"kafka.{name}": "x" for name, treatment in PROPERTIES.items() if isinstance(treatment, Ignored)
    }
    for _ in range(2):
        assert ClientConfig.from_options({"kafka.bootstrap.servers": "a:1", **ignored}) == config()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == len(ignored)
    assert "option kafka.group.id has no effect: no consumer group is joined" in "\n".join(warnings)


@pytest.mark.parametrize(
    "sasl",
    [
        {"sasl_mechanism": "PLAIN", "sasl_jaas_config": PLAIN_JAAS},
        {"sasl_mechanism": "plain", "sasl_username": "alice", "sasl_password": "hunter2"},
        {"sasl_mechanism": "SCRAM-SHA-256", "sasl_jaas_config": SCRAM_JAAS},
        {"sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "alice", "sasl_password": "hunter2"},
    ],
)
def test_credentials_come_from_jaas_or_from_options(sasl: dict[str, str]) -> None:
    found = config(security_protocol="SASL_SSL", **sasl)
    assert found.sasl is not None
    assert (found.sasl.mechanism, found.sasl.username, found.sasl.password) == (
        sasl["sasl_mechanism"].upper(),
        "alice",
        "hunter2",
    )
    assert found.tls is not None


def test_oauthbearer_takes_a_function_and_the_extensions_of_jaas() -> None:
    found = config(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_provider="a.b:c.d",
        sasl_jaas_config=OAUTH_JAAS,
    )
    assert found.sasl is not None
    assert (found.sasl.token_provider, found.sasl.extensions) == ("a.b:c.d", (("logicalCluster", "lkc-1"),))


@pytest.mark.parametrize(
    ("sasl", "message"),
    [
        ({}, "'kafka.sasl.mechanism': is required"),
        ({"sasl_mechanism": "GSSAPI"}, "Kerberos needs"),
        ({"sasl_mechanism": "EXTERNAL"}, "offered are PLAIN"),
        ({"sasl_mechanism": "PLAIN"}, "needs a user and a password"),
        ({"sasl_mechanism": "PLAIN", "sasl_username": "alice"}, "needs a user and a password"),
        ({"sasl_mechanism": "PLAIN", "sasl_jaas_config": PLAIN_JAAS, "sasl_username": "alice"}, "clashes"),
        ({"sasl_mechanism": "PLAIN", "sasl_jaas_config": SCRAM_JAAS}, "goes with PlainLoginModule"),
        ({"sasl_mechanism": "PLAIN", "sasl_jaas_config": PLAIN_JAAS.rstrip(";")}, "semicolon"),
        (
            {
                "sasl_mechanism": "SCRAM-SHA-256",
                "sasl_jaas_config": SCRAM_JAAS.replace(";", " tokenauth=true;"),
            },
            "delegation tokens",
        ),
        ({"sasl_mechanism": "OAUTHBEARER"}, "package.module:function"),
        (
            {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_provider": "no-name"},
            "package.module:function",
        ),
    ],
)
def test_credentials_that_are_missing_or_clash_are_refused(sasl: dict[str, str], message: str) -> None:
    assert message in refusal(security_protocol="SASL_PLAINTEXT", **sasl)


@pytest.mark.parametrize(
    "given",
    [
        {"sasl_mechanism": "hunter2"},
        {"security_protocol": "hunter2"},
        {"sasl_mechanism": "PLAIN", "sasl_jaas_config": "hunter2"},
        {"sasl_mechanism": "PLAIN", "sasl_jaas_config": "hunter2;"},
        {"sasl_mechanism": "PLAIN", "sasl_jaas_config": "hunter2 required;"},
        {"sasl_mechanism": "PLAIN", "sasl_jaas_config": "a required b=c hunter2;"},
        {"sasl_mechanism": "PLAIN", "sasl_password": "hunter2"},
        {"sasl_mechanism": "PLAIN", "sasl_passwort": "hunter2"},
        {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_provider": "hunter2"},
        {"sasl_mechanism": "PLAIN", "sasl_client_callback_handler_class": "hunter2"},
        {"ssl_endpoint_identification_algorithm": "hunter2"},
        {"ssl_enabled_protocols": "hunter2"},
        {"ssl_protocol": "hunter2"},
        {"ssl_keystore_type": "hunter2"},
        {"ssl_truststore_password": "hunter2"},
        {"ssl_keystore_type": "PEM", "ssl_keystore_key": "hunter2"},
        {"ssl_keystore_location": "-----BEGIN PRIVATE KEY----- hunter2 -----END PRIVATE KEY-----"},
        {"ssl_secret": "hunter2"},
        {"bootstrap_servers": "alice:hunter2@broker:9092"},
        {"oauth_token": "hunter2"},
    ],
)
def test_no_error_shows_a_secret_that_stands_in_the_wrong_place(given: dict[str, str]) -> None:
    said = refusal(**{"security_protocol": "SASL_SSL"} | given)
    assert "option 'kafka." in said
    assert "hunter2" not in said.lower()


def test_sasl_and_tls_count_only_where_the_protocol_says_so() -> None:
    assert config(sasl_mechanism="GSSAPI", ssl_endpoint_identification_algorithm="") == config()


def test_tls_takes_pem_files_and_pem_text() -> None:
    tls = config(
        security_protocol="ssl",
        ssl_truststore_type="PEM",
        ssl_truststore_location="/ca.pem",
        ssl_protocol="TLSv1.2",
    ).tls
    assert tls is not None
    assert (tls.authorities_path, tls.check_hostname, tls.protocols) == ("/ca.pem", True, ("TLSv1.2",))
    texts = {
        "ssl_keystore_type": "PEM",
        "ssl_keystore_key": "key-of-ours",
        "ssl_keystore_certificate_chain": "chain",
    }
    inline = config(security_protocol="SSL", ssl_endpoint_identification_algorithm="", **texts).tls
    assert inline is not None
    assert (inline.key, inline.certificate, inline.check_hostname) == ("key-of-ours", "chain", False)


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        ({"ssl_truststore_certificates": "x"}, "needs kafka.ssl.truststore.type=PEM"),
        (
            {
                "ssl_truststore_type": "PEM",
                "ssl_truststore_certificates": "x",
                "ssl_truststore_location": "/x",
            },
            "clashes",
        ),
        ({"ssl_keystore_type": "PEM", "ssl_keystore_key": "key-of-ours"}, "need each other"),
        ({"ssl_keystore_type": "PEM", "ssl_keystore_certificate_chain": "x"}, "need each other"),
        (
            {"ssl_keystore_type": "PEM", "ssl_keystore_location": "/x", "ssl_keystore_password": "hunter2"},
            "kafka.ssl.key.password",
        ),
    ],
)
def test_tls_properties_that_clash_are_refused(tls: dict[str, str], message: str) -> None:
    assert message in refusal(security_protocol="SSL", **tls)


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_java_trust_store_is_refused_with_the_command_that_converts_it(kind: str, tmp_path: Path) -> None:
    store = tmp_path / "a store.x"
    keytool(
        "-importcert",
        "-noprompt",
        "-file",
        certificate(tmp_path),
        "-alias",
        "ca",
        "-keystore",
        store,
        "-storetype",
        kind,
        "-storepass",
        "hunter2",
    )
    message = refusal(
        security_protocol="SSL",
        ssl_truststore_type=kind,
        ssl_truststore_location=str(store),
        ssl_truststore_password="hunter2",
    )
    run(message.splitlines()[1].replace("keytool", "keytool -storepass hunter2"))
    assert (tmp_path / "a store.pem").read_text().count("-----BEGIN CERTIFICATE-----") == 1


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_java_key_store_is_refused_with_the_command_that_converts_it(kind: str, tmp_path: Path) -> None:
    store = tmp_path / "keys.x"
    keytool(
        "-genkeypair",
        "-keyalg",
        "EC",
        "-dname",
        "CN=me",
        "-keystore",
        store,
        "-storetype",
        kind,
        "-storepass",
        "hunter2",
        "-keypass",
        "hunter2",
    )
    message = refusal(security_protocol="SSL", ssl_keystore_type=kind, ssl_keystore_location=str(store))
    command = message.splitlines()[1].replace(
        "-importkeystore", "-importkeystore -srcstorepass hunter2 -deststorepass hunter2"
    )
    run(command.replace("openssl pkcs12", "openssl pkcs12 -passin pass:hunter2"))
    assert "PRIVATE KEY-----" in (tmp_path / "keys.pem").read_text()


def test_a_store_without_a_type_may_be_pem_already() -> None:
    assert "If it is PEM already, set kafka.ssl.truststore.type=PEM" in refusal(
        ssl_truststore_location="/ca.pem"
    )


def test_it_travels_and_shows_no_secret() -> None:
    texts = {
        "ssl_keystore_type": "PEM",
        "ssl_keystore_key": "key-of-ours",
        "ssl_keystore_certificate_chain": "chain",
        "ssl_key_password": "key-password",
    }
    whole = config(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config=PLAIN_JAAS, **texts)
    again = pickle.loads(pickle.dumps(whole))
    assert again == whole
    assert hash(again) == hash(whole)
    assert again.credentials_key == whole.credentials_key
    assert not any(secret in repr(whole) for secret in SECRETS)


def test_the_key_of_a_cache_tells_credentials_apart() -> None:
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "alice"}
    keys = {config(**login, sasl_password=password).credentials_key for password in ("a", "b")}
    assert len(keys | {config().credentials_key, config(client_id="x").credentials_key}) == 4
    assert config(fetch_min_bytes="7").credentials_key == config().credentials_key


def test_options_are_read_without_importing_kafka_python() -> None:
    code = "import headwater.enumerators.kafka.client.client_config, sys; sys.exit('kafka' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[4])


def certificate(folder: Path) -> Path:
    pem = folder / "ca.pem"
    run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
        f"-subj /CN=ca -keyout {folder}/ca.key -out {pem}"
    )
    return pem


def keytool(*arguments: str | Path) -> None:
    program = shutil.which("keytool")
    if program is None:
        pytest.skip("no keytool")
    subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, timeout=PATIENCE_S)


def run(command: str) -> None:
    subprocess.run(command, shell=True, check=True, capture_output=True, timeout=PATIENCE_S)
