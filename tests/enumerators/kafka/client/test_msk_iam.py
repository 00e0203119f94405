"""MSK IAM: what options come to, and a token that holds against AWS's rules of signing.

The broker of these tests is a verifier written from AWS's documentation ("Signature Version 4, query
string"); the signer is AWS's own. No MSK cluster is asked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import sys
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from headwater.core.errors import AuthenticationError, MissingDependencyError, OptionError
from headwater.enumerators.kafka.client import sasl
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.msk_iam import MskIam

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
IAM = "software.amazon.msk.auth.iam"
BROKER = "b-1.orders.a1b2.c2.kafka.eu-west-1.amazonaws.com:9098"
JVM_OPTIONS = {
    "kafka.bootstrap.servers": BROKER,
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "AWS_MSK_IAM",
    "kafka.sasl.jaas.config": f"{IAM}.IAMLoginModule required;",
    "kafka.sasl.client.callback.handler.class": f"{IAM}.IAMClientCallbackHandler",
}


def signing(**changed: str) -> MskIam:
    options = JVM_OPTIONS | {f"kafka.{name.replace('_', '.')}": value for name, value in changed.items()}
    found = ClientConfig.from_options({name: value for name, value in options.items() if value}).sasl
    assert found is not None
    assert isinstance(found.cloud, MskIam)
    assert found.mechanism == "OAUTHBEARER"
    return found.cloud


def jaas(options: str) -> str:
    return f"{IAM}.IAMLoginModule required {options};"


def test_what_the_jvms_source_takes_is_taken() -> None:
    assert signing() == MskIam("eu-west-1")
    assert signing(sasl_jaas_config="", sasl_client_callback_handler_class="") == MskIam("eu-west-1")
    assert signing(sasl_jaas_config=jaas('awsProfileName="orders"')).profile == "orders"
    assert signing(
        sasl_jaas_config=jaas(
            'awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName="s" awsDebugCreds="true"'
        )
    ) == MskIam("eu-west-1", role_arn="arn:aws:iam::1:role/r", role_session_name="s")


def test_the_form_with_oauthbearer_is_the_same() -> None:
    handler = f"{IAM}.IAMOAuthBearerLoginCallbackHandler"
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    assert signing(
        sasl_mechanism="OAUTHBEARER",
        sasl_jaas_config=f'{module} required awsProfileName="orders";',
        sasl_client_callback_handler_class=handler,
        sasl_login_callback_handler_class=handler,
    ) == MskIam("eu-west-1", profile="orders")


@pytest.mark.parametrize(
    ("servers", "region"),
    [
        (
            "b-1.x.y.c2.kafka.us-east-1.amazonaws.com:9098,b-2.x.y.c2.kafka.us-east-1.amazonaws.com:9098",
            "us-east-1",
        ),
        ("boot-x1.c1.kafka-serverless.ap-southeast-2.amazonaws.com:9098", "ap-southeast-2"),
        ("b-1.x.y.c2.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
    ],
)
def test_the_region_is_in_the_names_of_the_brokers(servers: str, region: str) -> None:
    assert signing(bootstrap_servers=servers).region == region
    assert signing(bootstrap_servers=servers, sasl_msk_region="eu-west-3").region == "eu-west-3"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bootstrap_servers": "broker.internal:9098"}, "'kafka.sasl.msk.region': is required"),
        ({"bootstrap_servers": f"{BROKER},b.kafka.us-east-1.amazonaws.com:9098"}, "msk.region': is required"),
        ({"security_protocol": "SASL_PLAINTEXT"}, "IAM with SASL_SSL only"),
        ({"security_protocol": "SSL"}, "IAM with SASL_SSL only"),
        ({"sasl_jaas_config": jaas("awsStsRegion=eu-west-2")}, "has awsStsRegion, which has no effect here"),
        ({"sasl_jaas_config": jaas("awsProfileName=a awsRoleArn=b")}, "give one of them"),
        ({"sasl_jaas_config": jaas("").replace("IAMLogin", "PlainLogin")}, "goes with IAMLoginModule"),
        ({"sasl_oauthbearer_token_provider": "a:b"}, "clashes with AWS_MSK_IAM"),
        (
            {"sasl_client_callback_handler_class": "com.example.Handler"},
            "only the classes of aws-msk-iam-auth",
        ),
        ({"sasl_mechanism": "PLAIN", "sasl_jaas_config": ""}, "goes with kafka.sasl.mechanism=AWS_MSK_IAM"),
    ],
)
def test_what_would_have_no_effect_is_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        signing(**changed)
    assert message in str(caught.value)


@pytest.mark.parametrize("session_token", ["", "FwoGZXIvYXdzEXAMPLE//token+with=marks"])
def test_the_broker_gets_a_token_that_holds_against_the_rules_of_signing(
    session_token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", session_token)
    sent: list[bytes] = []

    def broker(request: Any) -> Any:
        if request.name == "SaslHandshakeRequest":
            assert request.mechanism == "OAUTHBEARER"
            return SimpleNamespace(error_code=0, mechanisms=["AWS_MSK_IAM", "OAUTHBEARER"])
        sent.append(request.auth_bytes)
        return SimpleNamespace(error_code=0, auth_bytes=b"", session_lifetime_ms=900_000)

    config = ClientConfig.from_options(JVM_OPTIONS)
    assert config.sasl is not None
    assert sasl.authenticate(broker, config.sasl, config.bootstrap_servers[0]) == 900_000
    [message] = sent
    assert message.startswith(b"n,,\x01auth=Bearer ")
    token = message.removeprefix(b"n,,\x01auth=Bearer ").removesuffix(b"\x01\x01").decode()
    fields = verified(token, SECRET, "eu-west-1")
    assert fields["Action"] == "kafka-cluster:Connect"
    assert fields["X-Amz-Credential"].startswith("AKIDEXAMPLE/")
    assert fields.get("X-Amz-Security-Token", "") == session_token
    with pytest.raises(AssertionError, match="signature"):
        verified(token, "another secret", "eu-west-1")


def verified(token: str, secret: str, region: str) -> dict[str, str]:
    """Check a presigned request as AWS does; return what it says."""
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    assert (url.scheme, url.netloc, url.path) == ("https", f"kafka.{region}.amazonaws.com", "/")
    fields = dict(parse_qsl(url.query, strict_parsing=True))
    signature = fields.pop("X-Amz-Signature")
    assert fields.pop("User-Agent").startswith("aws-msk-iam-sasl-signer-python/")  # is not signed
    signed_at = datetime.strptime(fields["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - signed_at).total_seconds()) < 600
    assert (fields["X-Amz-Algorithm"], fields["X-Amz-SignedHeaders"]) == ("AWS4-HMAC-SHA256", "host")
    assert int(fields["X-Amz-Expires"]) == 900
    scope = f"{signed_at:%Y%m%d}/{region}/kafka-cluster/aws4_request"
    assert fields["X-Amz-Credential"].partition("/")[2] == scope
    query = "&".join(
        f"{quote(name, safe='-_.~')}={quote(fields[name], safe='-_.~')}" for name in sorted(fields)
    )
    empty = hashlib.sha256(b"").hexdigest()
    request = f"GET\n/\n{query}\nhost:{url.netloc}\n\nhost\n{empty}"
    to_sign = "\n".join(
        ["AWS4-HMAC-SHA256", fields["X-Amz-Date"], scope, hashlib.sha256(request.encode()).hexdigest()]
    )
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    assert hmac.new(key, to_sign.encode(), "sha256").hexdigest() == signature, "signature"
    return fields


def test_a_role_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    moto = pytest.importorskip("moto")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with moto.mock_aws():
        token = MskIam("eu-west-1", role_arn="arn:aws:iam::123456789012:role/reader").token()
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    fields = dict(parse_qsl(url.query))
    assert fields["X-Amz-Credential"].startswith("ASIA")
    assert fields["X-Amz-Security-Token"]


def test_missing_credentials_and_a_missing_signer_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(AuthenticationError, match="AWS_MSK_IAM: no AWS credentials to sign with"):
        MskIam("eu-west-1").token()
    with pytest.raises(AuthenticationError, match="ProfileNotFound"):
        MskIam("eu-west-1", profile="nobody").token()
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(MissingDependencyError, match=r"headwater\[msk\]"):
        MskIam("eu-west-1").token()
