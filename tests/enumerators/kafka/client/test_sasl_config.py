from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.enumerators.kafka.client.sasl_config import parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_module_and_its_quoted_options_are_read() -> None:
    entry = parse_jaas(f'{PLAIN} required username="alice" password="a;b=\\"c\\"";')
    assert entry.module == PLAIN
    assert entry.module_name == "PlainLoginModule"
    assert dict(entry.options) == {"username": "alice", "password": 'a;b="c"'}


@pytest.mark.parametrize(
    ("written", "options"),
    [
        ("M required;", {}),
        ("M REQUISITE a=b;", {"a": "b"}),
        ("M required a='b c' ;", {"a": "b c"}),
        ('M required a="it\'s";', {"a": "it's"}),
        ("M optional\n  a=1 // the first\n  /* and\n more */ b=/path/x ;\n", {"a": "1", "b": "/path/x"}),
        (r'M required a="\\\t\101\7\q";', {"a": "\\\tA\7q"}),
        ('M required a="";', {"a": ""}),
    ],
)
def test_what_java_reads_is_read(written: str, options: dict[str, str]) -> None:
    assert dict(parse_jaas(written).options) == options


@pytest.mark.parametrize(
    "written",
    [
        "",
        ";",
        "M;",
        "M required",
        "M wanted a=b;",
        "M required a;",
        "M required a=;",
        "M required =a;",
        "M required a=b; N required;",
        'M required a="b;',
        "M required a=b c;",
        'M required a"b"=c;',
        "Client { M required; };",
    ],
)
def test_anything_else_is_refused_without_showing_values(written: str) -> None:
    secret = written.replace("=b", "=hunter2")
    with pytest.raises(ValueError, match=r"^(it must|it has|it must hold|its option|after)") as caught:
        parse_jaas(secret)
    assert "hunter2" not in str(caught.value)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")))
def test_any_password_survives_quoting(password: str) -> None:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_jaas(f'M required password="{quoted}";').options["password"] == password


def test_a_repr_shows_no_option() -> None:
    assert "hunter2" not in repr(parse_jaas('M required password="hunter2";'))
