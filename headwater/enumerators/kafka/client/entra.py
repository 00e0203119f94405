"""Microsoft Entra as a log-in to Azure Event Hubs: a token of its own library, sent with OAUTHBEARER."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import AuthenticationError, OptionError
from headwater.core.imports import importing
from headwater.enumerators.kafka.client.metadata import BrokerAddress

MECHANISM: Final = "AZURE_ENTRA"

_HOST: Final = re.compile(r"[a-z0-9-]+\.servicebus\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)")


@dataclass(frozen=True, slots=True)
class EntraId:
    """For which namespace of Event Hubs tokens are asked.

    The credentials are those that ``azure.identity.DefaultAzureCredential`` finds in each process: in the
    environment, as a workload or managed identity, or of a log-in of Azure's command line.

    Attributes:
        namespace: its host name.
    """

    namespace: str

    def token(self) -> str:
        """Return a token, the same one in a process while it is valid for long enough.

        May ask Entra, and block. Called for each new connection.

        Raises:
            AuthenticationError: there are no credentials, or Entra refuses them.
            MissingDependencyError: the library is not installed.
        """
        credential = default_credential()
        try:
            return str(credential.get_token(f"https://{self.namespace}/.default").token)
        except Exception as error:
            # Its message is left out: it may hold a secret.
            raise AuthenticationError(
                f"{MECHANISM}: no token of Entra for {self.namespace} ({type(error).__name__}): the "
                "library looks for credentials in the environment (AZURE_CLIENT_ID, AZURE_TENANT_ID, "
                "AZURE_CLIENT_SECRET), at the identity of the workload or machine, and at Azure's command "
                "line, in this process",
                source="kafka",
            ) from error


@functools.cache
def default_credential() -> Any:
    """Return the credential of this process, which keeps its tokens: identity endpoints throttle."""
    with importing("Event Hubs with Entra", extra="eventhubs"):
        from azure.identity import DefaultAzureCredential
    return DefaultAzureCredential()


def entra_id(servers: Sequence[BrokerAddress]) -> EntraId:
    """Return whose tokens the brokers take.

    Args:
        servers: the brokers: one namespace.

    Raises:
        OptionError: they are no namespace of Event Hubs.
    """
    hosts = {server.host.lower() for server in servers}
    if len(hosts) != 1 or not _HOST.fullmatch(min(hosts)):
        raise OptionError(
            f"must be one namespace of Event Hubs with {MECHANISM}, such as "
            "orders.servicebus.windows.net:9093; the token is asked for it",
            option="kafka.bootstrap.servers",
        )
    return EntraId(hosts.pop())
