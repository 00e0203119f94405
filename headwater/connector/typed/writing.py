"""Writes the typed readers: ``python -m headwater.connector.typed.writing``.

Each becomes a function with a real signature, which editors, type checkers and notebooks understand. They are
kept in the repository; a test compares them with what this module writes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from headwater.connector.typed.arguments import SOURCES, Argument, arguments_of
from headwater.core.source import Boundedness

_COLUMNS: Final = 110
_READS: Final = {
    "read": (Boundedness.BOUNDED, "in a batch", "read", "load_batch"),
    "read_stream": (Boundedness.CONTINUOUS_UNBOUNDED, "as a stream", "readStream", "load_stream"),
}
_TITLES: Final = {
    "demo": "orders that are made up",
    "files": "files",
    "http": "a REST API",
    "hybrid": "a chain of sources",
    "kafka": "Kafka",
    "mqtt": "MQTT",
}
_PAGES: Final = {
    "demo": "docs/demo.md",
    "files": "docs/files.md",
    "http": "docs/http.md",
    "hybrid": "docs/hybrid.md",
    "kafka": "docs/options.md",
    "mqtt": "docs/mqtt.md",
}


def modules() -> Iterator[tuple[Path, str]]:
    """Yield each module that this one writes: its path below this package, and its text."""
    for package in _READS:
        for source in SOURCES:
            yield Path(package, f"{source}.py"), module(package, source)


def module(package: str, source: str) -> str:
    """Return the text of the module of one typed reader.

    Args:
        package: ``read`` or ``read_stream``.
        source: one of `SOURCES`.
    """
    boundedness, how, attribute, load = _READS[package]
    arguments = arguments_of(source, boundedness)
    signature = "".join(f"    {_parameter(argument)},\n" for argument in arguments)
    docs = "".join(map(_doc, arguments))
    quotes = 'r"""' if "\\" in docs else '"""'
    return _formatted(
        f'"""``hw.{package}.{source}``. Written by ``python -m headwater.connector.typed.writing``."""\n'
        "\n"
        "from __future__ import annotations\n"
        "\n"
        f"{_imports(arguments, load)}"
        "\n"
        "\n"
        "@typed_reader\n"
        f"def {source}(\n"
        "    spark: SparkSession,\n"
        "    *,\n"
        f"{signature}"
        "    schema: str | StructType | None = None,\n"
        ") -> DataFrame:\n"
        f"    {quotes}Read {_TITLES[source]} {how}.\n"
        "\n"
        f'    The same as ``spark.{attribute}.format("headwater").option("source", "{source}")`` with the\n'
        f"    options that the arguments are named after, and ``load()``. See {_PAGES[source]}.\n"
        "\n"
        "    Args:\n"
        "        spark: the session.\n"
        f"{docs}"
        "        schema: the whole frame's, where the source takes one (``.schema(...)``).\n"
        "\n"
        "    Raises:\n"
        "        OptionError: an argument is missing, is none of this function, or is of another type.\n"
        '    """\n'
        f'    return {load}("{source}", locals())\n'
    )


def _formatted(text: str) -> str:
    """Return code as the linter wants it: it knows best where long lines break."""
    beside = Path(__file__).parent / "read" / "any.py"
    ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(beside), "-"]
    # S603: the command is the line above.
    done = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def _imports(arguments: Iterable[Argument], load: str) -> str:
    names = set(re.findall(r"\w+", " ".join(argument.annotation for argument in arguments)))
    typing = sorted({"Any", "Literal"} & names)
    groups = [
        _import("typing", ["TYPE_CHECKING", *typing]),
        "",
        _import("headwater.connector.typed.loading", [load, "typed_reader"]),
        "",
        "if TYPE_CHECKING:",
    ]
    for library, wanted in (
        ("collections.abc", ("Mapping", "Sequence")),
        ("datetime", ("datetime", "timedelta")),
    ):
        found = [name for name in wanted if name in names]
        if found:
            groups.append(f"    {_import(library, found)}")
    if not groups[-1].endswith(":"):
        groups.append("")
    groups.append("    from pyspark.sql import DataFrame, SparkSession")
    groups.append("    from pyspark.sql.types import StructType")
    return "\n".join(groups) + "\n"


def _import(library: str, names: Iterable[str]) -> str:
    return f"from {library} import {', '.join(sorted(names, key=lambda name: (not name.isupper(), name)))}"


def _parameter(argument: Argument) -> str:
    if argument.required:
        return f"{argument.name}: {argument.annotation}"
    return f"{argument.name}: {argument.annotation} | None = None"


def _doc(argument: Argument) -> str:
    counts = f" Default: {argument.default}." if argument.default and not argument.required else ""
    option = f" (``{argument.option}``)" if argument.option not in ("", argument.name) else ""
    said = f"{argument.name}: {argument.help}{counts}{option}"
    said = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", said)
    lines = textwrap.wrap(
        said,
        _COLUMNS - 4,
        initial_indent=" " * 8,
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write all modules into this package."""
    for path, text in modules():
        (Path(__file__).parent / path).write_text(text)


if __name__ == "__main__":
    main()
