"""Columns that files have and the schema has not: added after a restart, rescued, or an error."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.core.errors import CorruptRecordError, OptionError, SourceError, StateLocationError
from headwater.core.state_location import open_state_store
from headwater.readers.files.schema_history import SchemaHistory
from tests.connector.sources.files.files_queries import NOW_S, Query, batch, text

pytestmark = pytest.mark.usefixtures("patience")


class Folder:
    """Writes files of rows in one format, each newer than those before."""

    def __init__(self, inbox: Path, kind: str) -> None:
        self.inbox = inbox
        self.kind = kind
        self._count = 0

    def drop(self, *rows: dict[str, Any]) -> None:
        """Move a file of these rows into the folder."""
        path = self.inbox / f"{self._count}.{self.kind}"
        aside = self.inbox.parent / path.name
        if self.kind == "json":
            aside.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        else:
            pq.write_table(pa.Table.from_pylist(list(rows)), aside)
        at_s = NOW_S + self._count
        os.utime(aside, (at_s, at_s))
        aside.rename(path)
        self._count += 1

    def query(self, schema: pa.Schema | None = None, **options: Any) -> Query:
        return Query(schema, format=self.kind, path=str(self.inbox), **options)


@pytest.fixture(params=["parquet", "json"])
def folder(request: pytest.FixtureRequest, inbox: Path) -> Folder:
    return Folder(inbox, request.param)


def columns(**types: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in types.items()])


def rows(table: pa.Table | None) -> list[dict[str, Any]]:
    assert table is not None
    return list(table.to_pylist())


def test_add_new_columns_stops_the_query_and_has_them_after_a_restart(folder: Folder, tmp_path: Path) -> None:
    state: Any = {"schemaName": "orders", "stateLocation": str(tmp_path / "state")}
    folder.drop({"id": 1, "who": {"name": "a"}})
    with folder.query(**state) as query:
        assert rows(query.step()) == [{"id": 1, "who": {"name": "a"}, "_rescued_data": None}]
        folder.drop({"id": 2, "who": {"name": "b", "age": 7}, "extra": "x"})
        with pytest.raises(
            SourceError, match=r"columns .*\(2\): who\.age, extra\. .*'orders'.*load\(\) again"
        ):
            query.step()
        query.restart()
        expected = {"id": 2, "who": {"name": "b", "age": 7}, "extra": "x", "_rescued_data": None}
        assert rows(query.replay()) == [expected]
        folder.drop({"id": 3, "more": 1.5})
        with pytest.raises(SourceError, match=r"columns .*\(1\): more\."):
            query.step()
        query.restart()
        assert rows(query.replay()) == [
            {"id": 3, "who": None, "extra": None, "more": 1.5, "_rescued_data": None}
        ]
        assert query.step() is None
    other = batch(format=folder.kind, path=str(folder.inbox), **state)
    assert other.column_names == ["id", "who", "extra", "more", "_rescued_data"]
    assert other.sort_by("id").column("id").to_pylist() == [1, 2, 3]


def test_rescue_goes_on_and_keeps_new_columns_as_json(folder: Folder, tmp_path: Path) -> None:
    state: Any = {
        "schemaName": "s",
        "stateLocation": str(tmp_path / "state"),
        "schemaEvolutionMode": "rescue",
    }
    folder.drop({"id": 1, "who": {"name": "a"}})
    with folder.query(**state, rescuedDataColumn="more") as query:
        assert rows(query.step()) == [{"id": 1, "who": {"name": "a"}, "more": None}]
        folder.drop({"id": 2, "who": {"name": "b", "age": 7}, "x": 'a "q"'}, {"id": 3, "x": None})
        for table in (query.step(), query.replay()):
            found = rows(table)
            assert [row["id"] for row in found] == [2, 3]
            assert json.loads(found[0]["more"]) == {"who": {"age": 7}, "x": 'a "q"'}
            assert found[1]["more"] == (None if folder.kind == "parquet" else '{"x":null}')
    given = columns(id=pa.int64(), kept=pa.string())
    with folder.query(given, rescuedDataColumn="kept") as query:
        found = rows(query.step())
        assert [json.loads(row["kept"]) for row in found if row["kept"]][:2] == [
            {"who": {"name": "a"}},
            {"who": {"name": "b", "age": 7}, "x": 'a "q"'},
        ]


def test_in_text_a_value_that_does_not_fit_is_rescued_and_only_new_names_stop_the_query(
    inbox: Path, tmp_path: Path
) -> None:
    folder = Folder(inbox, "json")
    folder.drop({"id": 1, "items": [{"a": 1}]})
    with folder.query(schemaName="s", stateLocation=str(tmp_path / "state")) as query:
        query.step()
        folder.drop({"id": "text", "items": [{"a": "b"}]}, {"ID": 5})
        found = rows(query.step())
        assert [row["id"] for row in found] == [None, None]
        assert [json.loads(row["_rescued_data"]) for row in found] == [
            {"id": "text", "items": [{"a": "b"}]},
            {"ID": 5},
        ]
        folder.drop({"id": 2}, {"id": 3, "items": [{"a": 1}, {"a": 2, "b": True}], "void": None})
        with pytest.raises(SourceError, match=r"columns .*\(2\): items\.b, void\."):
            query.step()
        query.restart()
        assert rows(query.replay())[1] == {
            "id": 3,
            "items": [{"a": 1, "b": None}, {"a": 2, "b": True}],
            "void": None,
            "_rescued_data": None,
        }


def test_the_type_of_a_new_column_is_that_of_all_files_of_the_batch(inbox: Path, tmp_path: Path) -> None:
    folder = Folder(inbox, "json")
    folder.drop({"id": 1})
    with folder.query(schemaName="s", stateLocation=str(tmp_path / "state")) as query:
        query.step()
        folder.drop({"id": 2, "more": 1})
        folder.drop({"id": 3, "more": 2.5})
        with pytest.raises(SourceError, match=r"columns .*\(1\): more\."):
            query.step()
        query.restart()
        found = sorted(rows(query.replay()), key=lambda row: int(row["id"]))
        assert [row["more"] for row in found] == [1.0, 2.5]


def test_a_broken_record_beside_new_columns_adds_no_column_for_broken_ones(
    inbox: Path, tmp_path: Path
) -> None:
    folder = Folder(inbox, "json")
    folder.drop({"id": 1})
    with folder.query(schemaName="s", stateLocation=str(tmp_path / "state")) as query:
        query.step()
        (inbox / "broken.json").write_text('{"id":2,"more":1.5}\n{"id":\n')
        with pytest.raises(SourceError, match=r"columns .*\(1\): more\."):
            query.step()
        query.restart()
        assert [set(row) for row in rows(query.replay())] == [{"id", "more", "_rescued_data"}] * 2


def test_fail_stops_until_the_schema_has_them_and_none_leaves_them_out(folder: Folder) -> None:
    given = pa.schema([pa.field("id", pa.int64())])
    folder.drop({"id": 1})
    with folder.query(given, schemaEvolutionMode="fail") as query:
        assert rows(query.step()) == [{"id": 1}]
        folder.drop({"id": 2, "x": "a"})
        with pytest.raises(
            SourceError, match=r"columns .*\(1\): x\. schemaEvolutionMode is fail.*\.schema\("
        ):
            query.step()
        query.restart()
        with pytest.raises(SourceError, match="schemaEvolutionMode is fail"):
            query.replay()
        query.restart(given.append(pa.field("x", pa.string())))
        assert rows(query.replay()) == [{"id": 2, "x": "a"}]
    with folder.query(given, schemaEvolutionMode="none") as query:
        assert rows(query.step()) == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize("mode", ["fail", "rescue"])
def test_a_damaged_file_is_skipped_if_the_user_wants_so(inbox: Path, mode: str) -> None:
    folder = Folder(inbox, "parquet")
    folder.drop({"id": 1})
    (inbox / "damaged.parquet").write_bytes(b"no parquet file")
    given = columns(id=pa.int64(), _rescued_data=pa.string())
    options = {"schemaEvolutionMode": mode, "rescuedDataColumn": "_rescued_data"}
    with folder.query(given, **options, ignoreCorruptFiles="true") as query:
        assert [row["id"] for row in rows(query.step())] == [1]
    with (
        folder.query(given, **options) as query,
        pytest.raises(CorruptRecordError, match=r"damaged\.parquet"),
    ):
        query.step()


def test_a_column_of_a_file_that_is_called_as_one_that_is_made_here_is_rescued(
    folder: Folder, tmp_path: Path
) -> None:
    state: Any = {"schemaName": "s", "stateLocation": str(tmp_path / "state"), "includeMetadata": "true"}
    folder.drop({"id": 1})
    with folder.query(**state) as query:
        query.step()
        folder.drop({"id": 2, "_rescued_data": "old", "_metadata": "mine"})
        found = rows(query.step())[0]
    assert json.loads(found["_rescued_data"]) == {"_rescued_data": "old", "_metadata": "mine"}
    assert found["_metadata"]["file_name"] == f"1.{folder.kind}"


def test_a_column_that_is_made_here_is_refused_where_the_files_have_one_of_its_name(folder: Folder) -> None:
    folder.drop({"a": 1, "_metadata": {"x": 5}})
    how: Any = {"format": folder.kind, "path": str(folder.inbox)}
    with pytest.raises(OptionError, match=r"'rescuedDataColumn': .* 'A' .*another name"):
        batch(**how, rescuedDataColumn="A")
    with pytest.raises(OptionError, match=r"'includeMetadata': .*'_metadata' of their own.*without it"):
        batch(**how, includeMetadata="true")
    assert rows(batch(**how).select(["a", "_metadata"])) == [{"a": 1, "_metadata": {"x": 5}}]


def test_a_name_in_another_case_and_a_folder_are_no_new_columns(inbox: Path) -> None:
    (inbox / "day=1").mkdir()
    folder = Folder(inbox / "day=1", "parquet")
    folder.drop({"ID": 1, "day": 1})
    given = pa.schema([pa.field("id", pa.int64()), pa.field("day", pa.int32())])
    with Query(given, format="parquet", path=str(inbox), schemaEvolutionMode="fail") as query:
        assert rows(query.step()) == [{"id": 1, "day": 1}]


def test_options_that_clash_or_are_missing_are_named(inbox: Path, tmp_path: Path) -> None:
    folder = Folder(inbox, "parquet")
    folder.drop({"id": 1})
    state = str(tmp_path / "state")
    given = pa.schema([pa.field("id", pa.int64())])
    with pytest.raises(OptionError, match=r"addNewColumns needs .* schemaName.* stateLocation"):
        folder.query(schemaEvolutionMode="addNewColumns")
    with pytest.raises(OptionError, match="'schemaName': needs stateLocation"):
        folder.query(schemaName="a")
    with pytest.raises(OptionError, match="'schemaName': must be a name"):
        folder.query(schemaName="a/b", stateLocation=state)
    with pytest.raises(OptionError, match=r"'schemaName': is for an inferred schema.*\.schema"):
        folder.query(given, schemaName="a", stateLocation=state)
    with pytest.raises(OptionError, match=r"'columns': cannot be .* schemaEvolutionMode=fail"):
        folder.query(columns="id", schemaEvolutionMode="fail")
    with pytest.raises(OptionError, match="'schemaEvolutionMode': rescue is not for the format 'text'"):
        text(inbox, schemaEvolutionMode="rescue")
    with pytest.raises(OptionError, match="'rescuedDataColumn': needs the column _rescued_data"):
        folder.query(given, schemaEvolutionMode="rescue")


def test_a_stream_infers_from_its_first_files_and_says_so(
    inbox: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headwater.readers.files.inference.STREAM_FILES", 2)
    folder = Folder(inbox, "json")
    for name in "abc":
        folder.drop({name: 1})
    with folder.query(maxFilesPerTrigger="1") as query:
        assert rows(query.step()) == [{"a": 1, "b": None}]
    assert "inferred from 2 files of 3 that were listed" in caplog.text
    assert "a int64, b int64" in caplog.text
    assert batch(format="json", path=str(inbox)).column_names == ["a", "b", "c"]


def test_tasks_that_find_new_columns_at_once_lose_none(tmp_path: Path) -> None:
    store = open_state_store(str(tmp_path))
    one, other = SchemaHistory(store, "s"), SchemaHistory(store, "s")
    assert one.latest() is None
    first = pa.schema([("id", pa.int64())])
    assert one.begin(first) == other.begin(pa.schema([("late", pa.int8())])) == first
    seen = one._store.list("files-schemas/s")

    class Behind(SchemaHistory):
        """Lists once what was there before another task wrote."""

        def widen(self, found: pa.Schema) -> None:
            listed = iter([seen])
            real = self._store.list
            store: Any = self._store
            store.list = lambda folder: next(listed, None) or real(folder)
            super().widen(found)

    one.widen(columns(id=pa.int64(), a=pa.string()))
    Behind(store, "s").widen(columns(b=pa.string(), ID=pa.string()))
    assert other.latest() == columns(id=pa.int64(), a=pa.string(), b=pa.string())
    (tmp_path / "files-schemas" / "s" / "0000000009").write_text("{}")
    with pytest.raises(StateLocationError, match=r"no schema of headwater.*\.schema"):
        other.latest()


def test_of_csv_columns_that_a_header_has_more_stop_the_query_and_are_read_by_name_after_a_restart(
    inbox: Path, tmp_path: Path
) -> None:
    def drop(name: str, content: str, at_s: int) -> None:
        (tmp_path / name).write_text(content)
        os.utime(tmp_path / name, (at_s, at_s))
        (tmp_path / name).rename(inbox / name)

    state: Any = {"schemaName": "s", "stateLocation": str(tmp_path / "state")}
    drop("a.csv", "id,name\n1,a\n", NOW_S)
    with Query(format="csv", path=str(inbox), header="true", inferSchema="true", **state) as query:
        assert rows(query.step()) == [{"id": 1, "name": "a", "_rescued_data": None}]
        drop("b.csv", "id,more,name\n2,1.5,b\n", NOW_S + 1)
        with pytest.raises(SourceError, match=r"\(1\): more"):
            query.step()
        query.restart()
        assert rows(query.replay()) == [{"id": 2, "name": "b", "more": 1.5, "_rescued_data": None}]
        drop("x.csv", "id,name,last\n3,c,1\n", NOW_S + 2)
        drop("y.csv", "id,name,last\n4,d,9.5\n", NOW_S + 3)
        with pytest.raises(SourceError, match=r"\(1\): last"):
            query.step()
        query.restart()
        assert sorted(row["last"] for row in rows(query.replay())) == [1.0, 9.5]
        (inbox / "x.csv").unlink()
        (inbox / "y.csv").unlink()
    given = columns(number=pa.int64(), text=pa.string())
    with Query(given, format="csv", path=str(inbox), header="true", schemaEvolutionMode="fail") as query:
        with pytest.raises(SourceError, match=r"\(1\): name\. schemaEvolutionMode is fail"):
            query.step()
        (inbox / "b.csv").unlink()
        query.restart(ignoreMissingFiles="true")
        assert rows(query.replay()) == [{"number": 1, "text": "a"}]
    state["schemaName"] = "names"
    with Query(format="csv", path=str(inbox), header="true", schemaEvolutionMode="rescue", **state) as query:
        drop("c.csv", "id,name,more\n7,x,beyond\n", NOW_S + 2)
        found = {row["id"]: row["_rescued_data"] for row in rows(query.step())}
        assert found["1"] is None
        assert "beyond" in str(found["7"])


def test_values_of_csv_beyond_the_header_are_rescued_where_columns_go_by_name(
    inbox: Path, tmp_path: Path
) -> None:
    state: Any = {"schemaName": "s", "stateLocation": str(tmp_path / "state")}
    (inbox / "a.csv").write_text("id,name\n1,a\n2,b,beyond\n3\n")
    with Query(format="csv", path=str(inbox), header="true", **state) as query:
        assert rows(query.step()) == [
            {"id": "1", "name": "a", "_rescued_data": None},
            {"id": "2", "name": "b", "_rescued_data": '{"_c2":"beyond"}'},
            {"id": "3", "name": None, "_rescued_data": None},
        ]
