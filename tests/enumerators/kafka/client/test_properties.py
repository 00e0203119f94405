from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headwater.enumerators.kafka.client.properties import PROPERTIES
from headwater.enumerators.kafka.client.property_kinds import Ignored, Mapped, Refused
from local_kafka_jars import classpath, java
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[4]
OURS = {"sasl.msk.region", "sasl.oauthbearer.token.provider", "sasl.username", "sasl.password"}
OLDER = {"auto.include.jmx.reporter", "config.providers", "rebalance.timeout.ms"}

LIST = """
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
public class Names {
    public static void main(String[] args) {
        java.util.TreeSet<String> names = new java.util.TreeSet<>(ConsumerConfig.configNames());
        names.addAll(AdminClientConfig.configNames());
        names.forEach(System.out::println);
    }
}
"""


def test_every_property_of_the_java_clients_is_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "Names.java").write_text(LIST)
    command = [java(), "-cp", classpath(), str(tmp_path / "Names.java")]
    listed = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout.split()
    assert len(listed) > 100
    assert set(listed) == set(PROPERTIES) - OURS - OLDER


def test_the_table_is_sorted_and_every_refusal_says_why() -> None:
    assert list(PROPERTIES) == sorted(PROPERTIES)
    for name, treatment in PROPERTIES.items():
        assert isinstance(treatment, Mapped) or len(treatment.note) > 20, name


def test_what_spark_refuses_is_refused() -> None:
    for name in (
        "auto.offset.reset",
        "key.deserializer",
        "value.deserializer",
        "enable.auto.commit",
        "interceptor.classes",
    ):
        assert isinstance(PROPERTIES[name], Refused)


def test_groups_are_ignored_as_none_is_joined() -> None:
    assert isinstance(PROPERTIES["group.id"], Ignored)


@pytest.mark.parametrize(
    "name", [name for name, treatment in PROPERTIES.items() if isinstance(treatment, Mapped)]
)
def test_every_default_passes_its_own_check(name: str) -> None:
    treatment = PROPERTIES[name]
    assert isinstance(treatment, Mapped)
    assert treatment.default is None or treatment.value_of(None) == treatment.value_of(treatment.default)
