"""AWS's IAM as a log-in to Amazon MSK: a signed token, sent with OAUTHBEARER.

The options are those of the Java library ``aws-msk-iam-auth``; the token comes from AWS's own signer for
Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import AuthenticationError, OptionError
from headwater.core.imports import importing
from headwater.enumerators.kafka.client.metadata import BrokerAddress

MECHANISM: Final = "AWS_MSK_IAM"
REGION_OPTION: Final = "kafka.sasl.msk.region"
CALLBACK_HANDLERS: Final = (
    "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
)
"""The Java classes that users of the JVM's source must name; here they say nothing new."""

_HOST: Final = re.compile(r".*\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?", re.ASCII)
_JAAS_OPTIONS: Final = ("awsProfileName", "awsRoleArn", "awsRoleSessionName", "awsDebugCreds")
_SESSION_NAME: Final = "headwater"


@dataclass(frozen=True, slots=True)
class MskIam:
    """Whose credentials sign the token, and for which region.

    Without profile and role: credentials that boto3 finds by itself, in the environment, in ``~/.aws``, or
    from the role of the container or the machine; on the driver and on each executor.

    Attributes:
        region: of the cluster.
        profile: of ``~/.aws``.
        role_arn: a role to assume.
        role_session_name: names the session of that role in AWS's logs.
    """

    region: str
    profile: str = ""
    role_arn: str = ""
    role_session_name: str = _SESSION_NAME

    def token(self) -> str:
        """Return a token that is valid for 15 minutes.

        May ask AWS for credentials, and block. Called for each new connection.

        Raises:
            AuthenticationError: there are no credentials, or AWS refuses them.
            MissingDependencyError: the signer is not installed.
        """
        with importing("MSK IAM", extra="msk"):
            from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as signer  # noqa: N813 - a module
        try:
            if self.profile:
                token, _ = signer.generate_auth_token_from_profile(self.region, self.profile)
            elif self.role_arn:
                token, _ = signer.generate_auth_token_from_role_arn(
                    self.region, self.role_arn, self.role_session_name
                )
            else:
                token, _ = signer.generate_auth_token(self.region)
        except Exception as error:
            # Its message is left out: it may hold what was signed with.
            raise AuthenticationError(
                f"{MECHANISM}: no AWS credentials to sign with ({type(error).__name__}): boto3 looks "
                "for them in the environment, in ~/.aws, and at the role of the container or machine, "
                "in this process",
                source="kafka",
            ) from error
        return str(token)


def msk_iam(
    region: str | None, servers: Sequence[BrokerAddress], jaas: Mapping[str, str], jaas_option: str
) -> MskIam:
    """Join the settings for signing.

    Args:
        region: by the user's option.
        servers: the brokers, whose names hold the region otherwise.
        jaas: the options of the login module.
        jaas_option: where they were given, for messages.

    Raises:
        OptionError: the region is not known, or the login module has options that would have no effect.
    """
    unknown = sorted(set(jaas).difference(_JAAS_OPTIONS))
    if unknown:
        raise OptionError(
            f"has {', '.join(unknown)}, which has no effect here; known are {', '.join(_JAAS_OPTIONS)}",
            option=jaas_option,
        )
    profile = jaas.get("awsProfileName", "")
    role_arn = jaas.get("awsRoleArn", "")
    if profile and role_arn:
        raise OptionError("has awsProfileName and awsRoleArn: give one of them", option=jaas_option)
    return MskIam(
        region or _region_of(servers),
        profile,
        role_arn,
        jaas.get("awsRoleSessionName") or _SESSION_NAME,
    )


def _region_of(servers: Sequence[BrokerAddress]) -> str:
    regions = {match[1] if (match := _HOST.fullmatch(server.host.lower())) else "" for server in servers}
    if len(regions) != 1 or "" in regions:
        raise OptionError(
            "is required: the names of kafka.bootstrap.servers do not tell the AWS region, as "
            "b-1.name.id.c2.kafka.eu-west-1.amazonaws.com does",
            option=REGION_OPTION,
        )
    return regions.pop()
