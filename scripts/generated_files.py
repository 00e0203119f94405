"""Every file that is made from a table, and its text: ``scripts/generate`` writes them, a test compares them.

A page of the docs is prose, written by hand; only the tables in it are made here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from headwater import options_of
from headwater.connector.sources.built_in import BUILT_IN
from headwater.connector.sources.source_options import option_table
from headwater.connector.typed.arguments import Argument, arguments_of
from headwater.connector.typed.readers import MODES, docstring
from headwater.core.metrics import SOURCE_METRICS
from headwater.enumerators.kafka.client.properties import PROPERTIES
from headwater.enumerators.kafka.client.property_kinds import Mapped
from headwater.tools.monitoring.metrics import Metric, metrics_of
from headwater.tools.monitoring.query_history import QueryHistories
from tests.exactly_once import contract_page
from tests.parity import page as kafka_differences
from tests.parity.files import page as files_differences

ROOT = Path(__file__).resolve().parent.parent


def generated() -> Iterator[tuple[Path, str]]:
    """Yield the path of each file, and the text that it should have."""
    for package in MODES:
        yield ROOT / "headwater" / f"{package}.pyi", stub(package)
    for source, row in BUILT_IN.items():
        yield page(row.page, [options_of(source).markdown()])
    modes = [
        option_table((), "", is_planned=is_planned, is_simple=True, timestamps=True, filters=True)
        for is_planned in (True, False)
    ]
    yield page("docs/writing-a-source.md", [table.markdown() for table in modes])
    yield page("docs/kafka-properties.md", [kafka_properties()])
    yield page("docs/operations.md", [source_metrics()])
    yield page("docs/operations.md", [query_metrics()])
    yield ROOT / "docs/kafka-differences.md", kafka_differences.render()
    yield ROOT / "docs/files-differences.md", files_differences.render()
    yield contract_page.PAGE, contract_page.page(contract_page.PAGE.read_text())


def page(path: str, tables: list[str]) -> tuple[Path, str]:
    """Return a page in which tables take the places of those with the same head, in this order."""
    text = (ROOT / path).read_text()
    head = tables[0].partition("\n")[0]
    parts = re.split(rf"^{re.escape(head)}\n(?:\|.*\n)*", text, flags=re.MULTILINE)
    assert len(parts) == len(tables) + 1, f"{path} has {len(parts) - 1} tables that begin with {head}"
    return ROOT / path, "".join(
        f"{part}{table}\n" for part, table in zip(parts, tables, strict=False)
    ) + parts[-1]


def kafka_properties() -> str:
    """Return the table of Kafka's properties."""
    rows = ["| property | here | default | note |", "|---|---|---|---|"]
    for name, treatment in PROPERTIES.items():
        default = treatment.default if isinstance(treatment, Mapped) else None
        shown = "" if default is None else f"`{default}`" if default else "(empty)"
        rows.append(f"| `kafka.{name}` | {type(treatment).__name__.lower()} | {shown} | {treatment.note} |")
    return "\n".join(rows)


def source_metrics() -> str:
    """Return the table of the metrics of sources."""
    rows = ["| source metric | in Prometheus | meaning |", "|---|---|---|"]
    exported = {metric.name: metric for metric in metrics_of(QueryHistories(lambda: 0), {}, per_split=True)}
    for name, metric in SOURCE_METRICS.items():
        rows.append(f"| `{name}` | {_exported(exported[metric.exported])} | {metric.description} |")
    return "\n".join(rows)


def query_metrics() -> str:
    """Return the table of all other metrics."""
    rows = ["| metric in Prometheus | labels | meaning |", "|---|---|---|"]
    of_sources = {metric.exported for metric in SOURCE_METRICS.values()}
    rows += [
        f"| {_exported(metric)} | {', '.join(metric.labels)} | {metric.description} |"
        for metric in metrics_of(QueryHistories(lambda: 0), {}, per_split=True)
        if metric.name not in of_sources
    ]
    return "\n".join(rows)


def _exported(metric: Metric) -> str:
    return f"`{metric.full_name}{'_total' if metric.kind == 'counter' else ''}`"


def stub(package: str) -> str:
    """Return the text of a stub: what type checkers and editors know of typed readers."""
    functions = [_function(package, source) for source in BUILT_IN]
    names = set(re.findall(r"\w+", " ".join(_signature(package, source) for source in BUILT_IN)))
    text = "\n".join(
        [
            "# Written by scripts/generate from the tables of options.",
            *_imports("collections.abc", ("Mapping", "Sequence"), names),
            *_imports("datetime", ("datetime", "timedelta"), names),
            *_imports("typing", ("Any", "Literal"), names),
            "",
            "from pyspark.sql import DataFrame, SparkSession",
            "from pyspark.sql.types import StructType",
            "",
            f"__all__ = {list(BUILT_IN)}",
            "",
            *functions,
        ]
    )
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", f"{package}.pyi", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def _imports(library: str, candidates: Iterable[str], names: set[str]) -> Iterator[str]:
    imported = [name for name in candidates if name in names]
    if imported:
        yield f"from {library} import {', '.join(imported)}"


def _function(package: str, source: str) -> str:
    described = docstring(package, source)
    quotes = 'r"""' if "\\" in described else '"""'
    return f'def {source}({_signature(package, source)}) -> DataFrame:\n    {quotes}{described}"""\n'


def _signature(package: str, source: str) -> str:
    arguments = arguments_of(source, MODES[package].boundedness)
    parameters = [
        "spark: SparkSession",
        "*",
        *map(_parameter, arguments),
        "schema: str | StructType | None = None",
    ]
    return f"{', '.join(parameters)},"


def _parameter(argument: Argument) -> str:
    if argument.required:
        return f"{argument.name}: {argument.annotation}"
    return f"{argument.name}: {argument.annotation} | None = None"


if __name__ == "__main__":
    for path, text in generated():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"written: {path.relative_to(ROOT)}")
