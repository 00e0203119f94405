"""One name, one meaning: no two classes of headwater share a name, and none hides a well-known one."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

from headwater.connector.formats.options import FORMATS as ROW_FORMATS
from headwater.readers.files.settings import FORMATS as FILE_FORMATS

HEADWATER = Path(__file__).resolve().parent.parent / "headwater"

WELL_KNOWN = {
    *("Counter", "OrderedDict", "deque", "date", "datetime", "time", "timedelta", "Decimal", "Fraction"),
    *("Condition", "Event", "Future", "Lock", "Queue", "Semaphore", "Task", "Thread", "Timer"),
    *("Connection", "Executor", "Pool", "Process", "Socket"),
    *("Generator", "Iterable", "Iterator", "Mapping", "Path", "PurePath", "Sequence"),
    *("Array", "Buffer", "ChunkedArray", "Field", "RecordBatch", "Schema", "Table"),
    *("Column", "DataFrame", "Row", "SparkSession", "StructField", "StructType"),
    *("Formatter", "Handler", "Logger"),
}
"""What a reader takes such a name for: something of Python's library, of Arrow or of Spark.

``Barrier`` is not one of them: that of ``threading`` is rare, and in a stream processor the word means the
cut between two epochs.
"""


@cache
def _names() -> dict[str, list[str]]:
    """Return the modules that define each public class or type alias."""
    found = defaultdict(list)
    for file in sorted(HEADWATER.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            name = _defined(node)
            if name is not None and not name.startswith("_"):
                found[name].append(str(file.relative_to(HEADWATER)))
    return found


def _defined(node: ast.AST) -> str | None:
    if isinstance(node, ast.ClassDef):
        return node.name
    is_alias = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
    if is_alias and isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def test_no_two_classes_share_a_name() -> None:
    shared = {name: modules for name, modules in _names().items() if len(modules) > 1}
    assert not shared


def test_no_class_has_the_name_of_a_well_known_one() -> None:
    found = {name: _names()[name] for name in _names().keys() & WELL_KNOWN}
    assert not found


CALLED_BY_SPARK = {
    *("getDefaultReadLimit", "initialOffset", "prepareForTriggerAvailableNow", "reportLatestOffset"),
    *("onQueryStarted", "onQueryIdle", "onQueryProgress", "onQueryTerminated", "streamReader"),
    *("streamWriter", "writer"),
    *("addInPlace", "handleExpiredTimer", "handleInputRows", "init", "zero"),
}
FOR_USERS = {
    "_repr_html_",  # called by notebooks
    "advance",  # of the clock that tests of a source set
    "exponential",  # a way to make a RetryPolicy
    "fail_next",  # of the source in memory, for tests
    "main",  # the program `headwater`
    "markdown",  # of a table of options, for the docs of a plugin
    "send_event_to_source_reader",
}
AT_EXIT = {"close_shared_functions"}
CALLED_BY_URLLIB3 = {"_new_conn"}
OF_THE_RUNTIME = {"on_end_of_partition"}
"""Halves of contracts: a partition that ends counts as aligned; a segment log is read after a checkpoint."""


def test_nothing_is_there_for_tests_only() -> None:
    """Every class, function and method is named by headwater itself, called by Spark, or there for users."""
    defined: dict[str, str] = {}
    named = set()
    for file in sorted(HEADWATER.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    defined[name] = f"{file.relative_to(HEADWATER)}:{node.lineno}"
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str() as name):
                    named |= {name, name.rpartition(":")[2]}  # as module:name in tables
    suites = {name for name in defined if name.startswith("test_")}
    by_python = {name for name in defined if name.startswith("__")}
    known = suites | by_python | CALLED_BY_SPARK | CALLED_BY_URLLIB3 | FOR_USERS | AT_EXIT | OF_THE_RUNTIME
    left = defined.keys() - named - known
    assert {name: defined[name] for name in left} == {}


def test_no_module_compares_the_name_of_a_format_with_a_word() -> None:
    """What a format can do is a column of its table, `FORMATS` of files and of typed rows."""
    words = {*FILE_FORMATS, *ROW_FORMATS}
    offenders = [
        f"{file.relative_to(HEADWATER)}:{node.lineno}: {ast.unparse(node)}"
        for file in sorted(HEADWATER.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Compare)
        and ast.unparse(node.left).endswith("format")
        and any(isinstance(part, ast.Constant) and part.value in words for part in ast.walk(node))
    ]
    assert offenders == []
