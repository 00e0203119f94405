"""Architecture as tests: imports point down, between the floors and inside them.

A floor is a package in ``headwater/``; a room is a package or module inside of one. Each library outside of
Python's own is imported in certain rooms only.
"""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("core", "enumerators", "readers", "connector")
ABOVE = ("testing", "async_io", "contracts", "errors", "options", "read", "read_stream")
"""What stands above the floors: the suites for sources, and the modules of public names."""
SYSTEMS = ("files", "http", "kafka", "mqtt", "simple")
"""One source: a room of this name on each floor."""

ROOMS: dict[str, list[tuple[str, ...]]] = {
    "headwater.enumerators": [("event_time",), (*SYSTEMS, "hybrid")],
    "headwater.enumerators.kafka": [
        ("client", "java_regex", "split"),
        (
            "cluster_view",
            "group_committer",
            "offsets_initializer",
            "open_range",
            "record_sizes",
            "subscription",
            "time_index",
        ),
        ("empty_selection", "lookup_settings", "lost_records"),
        ("mirrors", "partition_list"),
        ("lookup",),
        ("enumerator",),
    ],
    "headwater.readers": [("async_io", "kernels"), ("formats", "runtime"), (*SYSTEMS, "demo", "hybrid")],
    "headwater.readers.formats": [
        ("format", "format_options", "table_layout", "time_zones", "bad_records_location"),
        (
            "bad_record_lines",
            "column_table",
            "corrupt_column",
            "decoded_part",
            "kernel_columns",
            "lines",
            "registry",
            "row_arrays",
            "value_addresses",
        ),
        ("bad_row_files", "kernel_text", "wire_format"),
        ("row_emitter",),
        ("avro", "confluent_json", "debezium_json", "json", "protobuf", "text"),
        ("csv",),
    ],
    "headwater.readers.http": [
        ("lookups", "pace", "response", "settings", "urls"),
        ("connections", "kept_tokens"),
        ("credentials", "kept_pools"),
        ("client",),
        ("pages",),
        ("paging", "statuses"),
        ("open_pages",),
        ("paged_split_reader",),
        ("incremental", "open_list"),
        ("split_reader",),
    ],
    "headwater.readers.runtime": [
        ("event_times",),
        ("task_reports",),
        ("batch_schema", "loss_reports", "partitions", "paused_splits"),
        ("fetchers", "source_reader", "staging"),
        ("epoch",),
    ],
    "headwater.connector": [
        ("cpus", "option_display", "program_arguments", "time_column"),
        ("readable",),
        ("options",),
        ("coordination", "formats", "tls_options"),
        ("async_io",),
        ("planned", "barrier"),
        ("sources",),
        ("spark", "typed"),
        ("monitoring",),
        ("commands",),
    ],
    "headwater.connector.typed": [
        ("argument_kinds",),
        ("arguments",),
        ("misuse", "writing"),
        ("loading",),
        ("read", "read_stream"),
    ],
    "headwater.connector.async_io": [
        (
            "batches",
            "derived_id",
            "event_time_segments",
            "failures",
            "input_rows",
            "input_thread",
            "metrics",
            "misfit",
            "output_stream",
            "pickling",
            "schemas",
            "source_options",
            "text_casts",
        ),
        ("arrow_casts", "carried_rows", "gathering", "time_casts"),
        ("scalar_casts",),
        ("conversions",),
        ("results",),
        ("arrow_results",),
        ("arrow_task",),
        ("options", "task"),
        ("epoch_calls", "limits"),
        ("plan",),
        ("source_calls",),
        ("carry_over",),
        ("wait",),
    ],
    "headwater.connector.sources": [
        ("configured", "source_options", "spark_schema"),
        ("files", "http", "kafka", "mqtt", "simple"),
        ("user_sources",),
        ("demo",),
        ("registry",),
        ("hybrid",),
    ],
}
"""The rooms of each package, from the ground up. Rooms of one line do not know each other."""

SPARK = {"pyspark", "py4j"}
KAFKA = {"cramjam", "crc32c", "google_crc32c", "kafka", "llvmlite", "numba", "numpy", "zstandard"}
KAFKA_ROOMS = (
    "headwater.enumerators.event_time",
    "headwater.enumerators.kafka",
    "headwater.readers.files.csv_format",
    "headwater.readers.files.csv_inference",
    "headwater.readers.files.csv_lines",
    "headwater.readers.files.csv_rescue",
    "headwater.readers.files.csv_stream",
    "headwater.readers.files.document_texts",
    "headwater.readers.files.json_documents",
    "headwater.readers.files.json_format",
    "headwater.readers.files.json_inference",
    "headwater.readers.files.json_times",
    "headwater.readers.formats",
    "headwater.readers.kafka",
    "headwater.readers.kernels",
)


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name and its syntax tree."""

    name: str
    tree: ast.Module

    @property
    def floor(self) -> int:
        return FLOORS.index(self.name.split(".")[1])

    @property
    def in_kafka_room(self) -> bool:
        return any(self.name == room or self.name.startswith(f"{room}.") for room in KAFKA_ROOMS)

    def imported_modules(self) -> Iterator[str]:
        """Yield every module of headwater that it imports, also those inside functions and for types only."""
        for module, names in self.imports():
            inside = [f"{module}.{name}" for name in names if f"{module}.{name}" in EVERY_MODULE]
            yield from inside or ([module] if module in EVERY_MODULE else [])

    def imports(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield every import, wherever it stands: the module and the names taken from it."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, ()) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name} imports relatively"
                yield node.module or "", tuple(alias.name for alias in node.names)

    def packages(self) -> set[str]:
        """Return the top-level packages that it imports."""
        return {module.partition(".")[0] for module, _ in self.imports()}


def _modules() -> Iterator[Module]:
    for file in sorted((ROOT / "headwater").rglob("*.py")):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        yield Module(name, ast.parse(file.read_text()))


EVERY_MODULE = {module.name: module for module in _modules()}
MODULES = {
    name: module
    for name, module in EVERY_MODULE.items()
    if name.startswith(tuple(f"headwater.{floor}" for floor in FLOORS))
}
each_module = pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)


def test_every_floor_is_looked_at() -> None:
    assert {module.floor for module in MODULES.values()} == {0, 1, 2, 3}


@each_module
def test_imports_point_down(module: Module) -> None:
    above = {f"headwater.{name}" for name in (*FLOORS[module.floor + 1 :], *ABOVE)}
    assert not {other for other, _ in module.imports() if ".".join(other.split(".")[:2]) in above}
    assert "pyspark_headwater" not in module.packages()
    assert "headwater" not in {other for other, _ in module.imports()}, "the public names are for users"


@pytest.mark.parametrize("folder", ["headwater", "tests", "benchmarks", "examples", "scripts"])
def test_nothing_imports_through_the_links_at_the_top_of_the_repository(folder: str) -> None:
    """A user's site-packages does not have them, and a user's own modules may be called the same."""
    files = {
        str(file): Module(file.stem, ast.parse(file.read_text())) for file in (ROOT / folder).rglob("*.py")
    }
    assert files
    assert [file for file, module in files.items() if module.packages() & set(FLOORS)] == []


def room_of(package: str, module: str) -> str | None:
    """Return the room of ``package`` that ``module`` is in, or None."""
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None


@pytest.mark.parametrize("package", ROOMS)
def test_each_room_has_its_place(package: str) -> None:
    there = {room_of(package, name) for name in MODULES} - {None}
    assert there == {room for line in ROOMS[package] for room in line}


@pytest.mark.parametrize("package", ROOMS)
def test_imports_point_down_inside_a_package(package: str) -> None:
    height = {room: line for line, rooms in enumerate(ROOMS[package]) for room in rooms}
    up = {
        (module.name, other)
        for module in MODULES.values()
        for other in module.imported_modules()
        if (here := room_of(package, module.name))
        and (there := room_of(package, other))
        and here != there
        and height[there] >= height[here]
    }
    assert not up


def test_every_package_with_rooms_states_their_order() -> None:
    """Packages of one line of modules, such as ``headwater.core``, have the check for circles only."""
    packages = {module.rpartition(".")[0] for module in MODULES}
    nested = {package for package in packages for other in packages if other.rpartition(".")[0] == package}
    assert nested - {"headwater"} == set(ROOMS)


def test_no_imports_go_in_a_circle() -> None:
    graph = {name: set(module.imported_modules()) - {name} for name, module in EVERY_MODULE.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@each_module
def test_a_system_knows_no_other_system(module: Module) -> None:
    own = system_of(module.name)
    others = {system_of(other) for other in module.imported_modules()} - {None, own}
    assert own is None or not others


def system_of(module: str) -> str | None:
    """Return the system that a module is about, or None."""
    return next((name for name in module.split(".")[2:] if name in SYSTEMS), None)


@each_module
def test_only_the_top_floor_knows_spark(module: Module) -> None:
    assert module.floor == FLOORS.index("connector") or not module.packages() & SPARK


@each_module
def test_only_kafkas_own_rooms_know_its_libraries(module: Module) -> None:
    assert module.in_kafka_room or not module.packages() & KAFKA


@each_module
def test_only_mqtts_own_room_knows_its_library(module: Module) -> None:
    assert module.name.startswith("headwater.readers.mqtt.") or "paho" not in module.packages()


@each_module
def test_modules_take_no_private_name_from_each_other(module: Module) -> None:
    for other, names in module.imports():
        if other in EVERY_MODULE:
            private = {name for name in names if name.startswith("_")}
            assert not private, f"{module.name} takes {sorted(private)} from {other}"


WITHOUT_KAFKAS_LIBRARIES = f"""
import importlib, sys
for library in {sorted(KAFKA)}:
    sys.modules[library] = None
"""


def test_what_is_not_kafkas_can_be_imported_without_kafkas_libraries() -> None:
    """As where headwater is installed without extras."""
    names = ["headwater", "pyspark_headwater", *(name for name in MODULES if not MODULES[name].in_kafka_room)]
    _run(f"for name in {names}: importlib.import_module(name)")


def test_without_kafkas_libraries_the_kafka_source_names_the_install_line() -> None:
    said = _run("""
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import MissingDependencyError
from headwater.core.source import Boundedness
try:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "orders"}
    made = source_factory("kafka")(options, Boundedness.BOUNDED)
    made.source.create_reader()
except MissingDependencyError as error:
    print(error)
""")
    assert "pip install 'headwater[kafka]'" in said


def test_without_mqtts_library_the_mqtt_source_names_the_install_line() -> None:
    said = _run("""
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import MissingDependencyError
from headwater.core.source import Boundedness
sys.modules["paho"] = None
try:
    options = {"broker": "mqtt://127.0.0.1", "topics": "orders"}
    made = source_factory("mqtt")(options, Boundedness.BOUNDED)
    made.source.create_reader()
except MissingDependencyError as error:
    print(error)
""")
    assert "pip install 'headwater[mqtt]'" in said


def _run(program: str) -> str:
    command = [sys.executable, "-c", WITHOUT_KAFKAS_LIBRARIES + program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout
