"""Options of MQTT that do not go together, or not with a version."""

from __future__ import annotations

import pytest

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.errors import (
    OptionError,
)
from headwater.core.source import Boundedness
from tests.readers.mqtt.sessions import (
    configured,
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"messagekey": "property:id"}, r"messageKey.*MQTT 3\.1\.1 has no user properties"),
        ({"sessions": "2"}, r"sessions.*MQTT 3\.1\.1 has no shared subscriptions"),
        ({"mqttversion": "4"}, r"mqttVersion"),
    ],
)
def test_what_version_3_1_1_does_not_have_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        configured("mqtt://x", **{"mqttversion": "3.1.1", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": "a"}, "option 'broker': is required"),
        ({"broker": "http://x", "topics": "a"}, "must be mqtt://host:port"),
        ({"broker": "mqtt://x"}, "option 'topics': is required"),
        ({"broker": "mqtt://x", "topics": "a", "maxinflight": "65536"}, "maxInFlight.*at most 65535"),
        ({"broker": "mqtt://x", "topics": "a"}, "option 'clientId': is required for a stream"),
        ({"broker": "mqtt://me:pw@x", "topics": "a"}, "must hold no user and password"),
        ({"broker": "mqtt://x/a"}, "option 'broker': must end with the port, not with '/a'"),
        ({"broker": "mqtt://x", "topics": "a,b/#/c"}, "must be topic filters: .* not 'b/#/c'"),
        ({"broker": "mqtt://x", "topics": "a/b+"}, "must be topic filters: .* not 'a/b[+]'"),
        (
            {"broker": "mqtt://x", "topics": "$share/g/a", "clientId": "c", "sessions": "2"},
            "option 'topics': must not begin with \\$share",
        ),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c/d", "sessions": "2"},
            "option 'clientId': must have no /, [+] or # with several sessions",
        ),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c", "messageKey": "id"},
            "must be payload:<field",
        ),
        ({"broker": "mqtt://x", "topics": "a", "clientId": "c"}, "option 'stateLocation': is required"),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c", "stateLocation": "/x", "tlsCa": "/ca"},
            "option 'tlsCa': requires mqtts://",
        ),
        (
            {"broker": "mqtts://x", "topics": "a", "clientId": "c", "stateLocation": "/x", "tlsKey": "/key"},
            "option 'tlsKey': requires option 'tlsCertificate'",
        ),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c", "receiverIdleTimeout": "10ms"},
            "option 'receiverIdleTimeout': must be 1s at least",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        configure_mqtt(options, Boundedness.CONTINUOUS_UNBOUNDED)


def test_a_batch_read_leaves_the_session_of_a_stream_alone() -> None:
    source = configure_mqtt(
        {"broker": "mqtt://x", "topics": "a", "clientid": "mine"}, Boundedness.BOUNDED
    ).source
    assert isinstance(source, MqttSource)
    assert source.sessions.first_ids != ("mine",)
