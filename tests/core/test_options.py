"""A spec: a class whose fields are the options."""

from __future__ import annotations

import pickle

import pytest

from headwater.connector.options import OptionTable
from headwater.core.errors import OptionError
from headwater.core.options import Spec, integer, option


class Rules(Spec):
    comments: bool = option("allowComments", "JSON: whether `//` is skipped.", default=False)
    password: str | None = option("password", "A secret.", default=None, is_secret=True)
    separator: str = option("sep", "CSV: between values.", default=",", also="delimiter")
    tags: dict[str, int] = option("tags", "Some.", default={}, parse=lambda raw: {raw: 1}, shown_default="")
    depth: int = 3

    def __post_init__(self) -> None:
        if self.comments and self.separator == "/":
            raise self.refusal("separator", "begins a comment")


class Renamed(Rules):
    comments: bool = option("remarks", "Whether they are skipped.", default=True)


class Required(Spec):
    topic: str = option("topic", "Which is read.")
    limit: int | None = option("limit", "At most.", default=None, parse=integer(1), after="topic")


TABLE = OptionTable(Rules.options())


def parsed(table: OptionTable = TABLE, /, **given: str) -> Rules:
    return table.parse(given, None).of(Rules)


def test_fields_have_the_values_that_are_given_or_their_defaults() -> None:
    assert parsed() == Rules()
    assert parsed(allowcomments="true", TAGS="x") == Rules(comments=True, tags={"x": 1})
    assert TABLE.parse({}, None).of(Rules, depth=5).depth == 5


def test_another_name_of_an_option_sets_it_unless_its_own_does() -> None:
    assert parsed(delimiter=";").separator == ";"
    assert parsed(delimiter=";", sep="|").separator == "|"
    assert "| `delimiter` | `,` | both | CSV: another name of `sep`. |" in TABLE.markdown()


def test_options_that_do_not_go_together_are_refused_by_name() -> None:
    with pytest.raises(OptionError, match="option 'sep': begins a comment"):
        parsed(allowComments="true", sep="/")


def test_a_subclass_gives_a_field_another_option() -> None:
    assert [row.name for row in Renamed.options()] == ["remarks", "password", "sep", "tags"]
    assert Renamed().comments


def test_an_option_without_a_default_is_required() -> None:
    table = OptionTable(Required.options())
    with pytest.raises(OptionError, match="option 'topic': is required: Which is read"):
        table.parse({}, None)
    assert table.parse({"topic": "t"}, None).of(Required) == Required(topic="t")


def test_an_object_is_frozen_and_pickled_and_shows_no_secrets() -> None:
    rules = Rules(password="hidden")
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert "hidden" not in repr(rules)
    with pytest.raises(AttributeError):
        rules.depth = 4  # type: ignore[misc]


def test_a_row_stands_behind_the_one_that_it_names() -> None:
    table = OptionTable([*Required.options()[::-1], *Rules.options()])
    assert [row.name for row in table.rows][:2] == ["topic", "limit"]
