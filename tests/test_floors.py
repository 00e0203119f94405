"""Architecture as tests: imports point down, between the floors and inside them.

A floor is a package in ``headwater/``. The rooms of a package are its modules and folders. Inside a
package imports point down if its rooms have an order in which none imports a later one. Only for the folders
of a floor this order is written down: a new module needs no line here. Each library outside of Python's own
is imported in certain places only. A test names everything that breaks its rule.
"""

from __future__ import annotations

import ast
import graphlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("core", "enumerators", "readers", "connector", "tools")
"""From the ground up. Only ``headwater`` itself imports the last one: command lines and monitoring."""
ABOVE = ("testing", "plugins", "async_io", "contracts", "errors", "options", "read", "read_stream")
"""What stands above the floors: the suites for sources, and the modules of public names."""
SYSTEMS = ("files", "http", "kafka", "mqtt", "postgres", "simple")
"""One source: a folder of this name on each floor."""

FOLDERS: dict[str, list[tuple[str, ...]]] = {
    "headwater.core": [],
    "headwater.enumerators": [("event_time",), (*SYSTEMS, "hybrid")],
    "headwater.readers": [
        ("async_io", "kernels", "python_values"),
        ("formats", "runtime"),
        (*SYSTEMS, "demo", "hybrid"),
    ],
    "headwater.connector": [
        ("changes", "coordination", "formats"),
        ("async_io",),
        ("planned", "barrier"),
        ("sources",),
        ("spark", "typed"),
    ],
    "headwater.tools": [("monitoring",), ("commands",)],
}
"""The folders of each floor, from the ground up. Folders of one line do not know each other."""

SPARK = {"pyspark", "py4j"}
SPARK_VERSION = re.compile(r"(?i)spark *[=>]*4\.\d")
KAFKA = {"cramjam", "kafka", "llvmlite", "numba", "numpy", "zstandard"}
KAFKA_PLACES = (
    "headwater.enumerators.event_time.",
    "headwater.enumerators.kafka.",
    "headwater.readers.files.csv_",
    "headwater.readers.files.document_",
    "headwater.readers.files.json_",
    "headwater.readers.formats.",
    "headwater.readers.kafka.",
    "headwater.readers.kernels.",
    "headwater.readers.postgres.",
)
"""How the names of modules begin that may import these libraries: Kafka's, and the kernels of formats."""
MQTT = {"paho"}
MQTT_PLACE = "headwater.readers.mqtt"
POSTGRES = {"psycopg"}
POSTGRES_PLACES = ("headwater.enumerators.postgres", "headwater.readers.postgres")


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name and its syntax tree."""

    name: str
    tree: ast.Module

    @property
    def floor(self) -> int:
        return FLOORS.index(self.name.split(".")[1])

    @property
    def in_kafka_place(self) -> bool:
        return f"{self.name}.".startswith(KAFKA_PLACES)

    @cached_property
    def imported_modules(self) -> frozenset[str]:
        """Every module of headwater that it imports, also those inside functions and for types only."""
        imported = set[str]()
        for module, names in self.imports:
            inside = [f"{module}.{name}" for name in names if f"{module}.{name}" in every_module()]
            imported.update(inside or ([module] if module in every_module() else []))
        return frozenset(imported)

    @cached_property
    def imports(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every import, wherever it stands: the module and the names taken from it."""
        imports: list[tuple[str, tuple[str, ...]]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                imports.extend((alias.name, ()) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name} imports relatively"
                imports.append((node.module or "", tuple(alias.name for alias in node.names)))
        return tuple(imports)

    @property
    def texts(self) -> Iterator[str]:
        """Every text in it, docstrings included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value

    @cached_property
    def packages(self) -> frozenset[str]:
        """The top-level packages that it imports."""
        return frozenset(module.partition(".")[0] for module, _ in self.imports)


def modules_of(folder: str) -> Iterator[Module]:
    for file in sorted((ROOT / folder).rglob("*.py")):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        yield Module(name, ast.parse(file.read_text()))


@cache
def every_module() -> Mapping[str, Module]:
    """Return all modules of headwater by name. Not while tests are collected: it takes seconds."""
    return {module.name: module for module in modules_of("headwater")}


@cache
def modules() -> Mapping[str, Module]:
    """Return those on a floor."""
    return {name: each for name, each in every_module().items() if f"{name}.".split(".")[1] in FLOORS}


def show(offenders: Iterable[str]) -> None:
    """Fail with all offenders, one in a line."""
    lines = sorted(offenders)
    assert not lines, "\n".join(["", *lines])


def arrows(modules: Iterable[Module]) -> Iterator[tuple[Module, str]]:
    """Yield every import of one module of headwater by another."""
    yield from ((module, other) for module in modules for other in sorted(module.imported_modules))


def is_inside(package: str, module: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def folder_of(module: str) -> str:
    """Return the folder of a floor that a module is in, as ``headwater.readers.kafka``."""
    return ".".join(module.split(".")[:3])


def floor_of(folder: str) -> str:
    return folder.rpartition(".")[0]


def room_of(package: str, module: str) -> str | None:
    """Return the room of ``package`` that ``module`` is in, or None."""
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None


def test_imports_point_down_from_floor_to_floor() -> None:
    """Nothing imports the tools but the module of the public names, which no floor imports."""
    assert {FLOORS[module.floor] for module in modules().values()} == set(FLOORS)
    public = {"headwater", "pyspark_headwater"}
    show(
        f"{module.name} -> {other}"
        for module in every_module().values()
        for other, _ in module.imports
        if (is_inside("headwater.tools", other) and module.name != "headwater" and not is_a_tool(module))
        or (module.name in modules() and (other in public or is_above(other, module.floor)))
    )


def is_a_tool(module: Module) -> bool:
    return is_inside("headwater.tools", module.name)


def is_above(module: str, floor: int) -> bool:
    return any(is_inside(f"headwater.{name}", module) for name in (*FLOORS[floor + 1 :], *ABOVE))


PUBLIC = frozenset(("async_io", "contracts", "errors", "options", "read", "read_stream", "testing"))
"""The public modules beside ``headwater`` itself."""


def test_plugins_know_of_headwater_what_every_author_of_a_source_knows() -> None:
    """No private names either: what they lack becomes public. Only a table of names leads to them."""
    plugins = {name: each for name, each in every_module().items() if is_inside("headwater.plugins", name)}
    assert len(plugins) > 1
    allowed = {"headwater", *(f"headwater.{name}" for name in PUBLIC), *plugins}
    show(
        f"{module.name} -> {other}"
        for module in every_module().values()
        for other, names in module.imports
        if other.partition(".")[0] in {"headwater", "pyspark_headwater"}
        if (module.name in plugins and (other not in allowed or any(name[0] == "_" for name in names)))
        or (module.name not in plugins and is_inside("headwater.plugins", other))
    )
    assert {f"headwater.{name}" for name in PUBLIC} <= every_module().keys()


def test_nothing_imports_through_the_links_at_the_top_of_the_repository() -> None:
    """A user's site-packages does not have them, and a user's own modules may be called the same."""
    through_a_link = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(FLOORS)})\b", re.MULTILINE)
    for folder in ("headwater", "tests", "benchmarks", "examples", "scripts"):
        texts = {file: file.read_text() for file in (ROOT / folder).rglob("*.py")}
        assert texts
        suspects = [
            Module(str(file), ast.parse(text)) for file, text in texts.items() if through_a_link.search(text)
        ]
        show(module.name for module in suspects if module.packages & set(FLOORS))


def test_imports_point_down_from_folder_to_folder_of_a_floor() -> None:
    """The order names each folder of a floor."""
    height = {
        f"{floor}.{folder}": number
        for floor, lines in FOLDERS.items()
        for number, line in enumerate(lines)
        for folder in line
    }
    show({folder_of(name) for name in modules() if name.count(".") > 2} - height.keys())
    show(
        f"{module.name} -> {other}"
        for module, other in arrows(modules().values())
        if (here := folder_of(module.name)) in height
        and (there := folder_of(other)) in height
        and floor_of(here) == floor_of(there)
        and here != there
        and height[there] >= height[here]
    )


def test_no_imports_go_in_a_circle() -> None:
    """Neither modules nor, inside a package, its rooms: a folder and a module beside it, or two folders."""
    circles = {
        "modules": circle_in({name: set(module.imported_modules) for name, module in every_module().items()}),
        **{package: circle_in(rooms) for package, rooms in rooms_of_packages().items()},
    }
    show(f"{place}: {' -> '.join(circle)}" for place, circle in circles.items() if circle)


def rooms_of_packages() -> dict[str, dict[str, set[str]]]:
    """Return for each package which of its rooms import which others of its rooms."""
    packages: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, other in arrows(every_module().values()):
        package = os.path.commonpath([name.replace(".", "/") for name in (module.name, other)]).replace(
            "/", "."
        )
        here, there = (room_of(package, name) for name in (module.name, other))
        if here and there:
            packages[package][here].add(there)
    return packages


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    others = {name: neighbours - {name} for name, neighbours in graph.items()}
    try:
        graphlib.TopologicalSorter(others).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []


def system_of(module: str) -> str | None:
    """Return the system that a module is about, or None."""
    return next((name for name in module.split(".")[2:] if name in SYSTEMS), None)


def test_a_system_knows_no_other_system() -> None:
    show(
        f"{module.name} -> {other}"
        for module, other in arrows(modules().values())
        if (system := system_of(module.name)) and system_of(other) not in {None, system}
    )


def test_only_certain_places_know_a_library() -> None:
    show(
        f"{module.name}: {library}"
        for module in modules().values()
        for library in sorted(module.packages - libraries_of(module))
        if library in SPARK | KAFKA | MQTT | POSTGRES
    )


def libraries_of(module: Module) -> set[str]:
    """Return which of these libraries a module may import."""
    spark = SPARK if module.floor >= FLOORS.index("connector") else set()
    kafka = KAFKA if module.in_kafka_place else set()
    mqtt = MQTT if is_inside(MQTT_PLACE, module.name) else set()
    postgres = POSTGRES if any(is_inside(place, module.name) for place in POSTGRES_PLACES) else set()
    return spark | kafka | mqtt | postgres


def test_one_module_knows_the_versions_of_spark() -> None:
    """Others neither name a version nor use functions of PySpark that are not public."""
    compat = "headwater.connector.compat"
    others = [module for name, module in every_module().items() if name != compat]
    show(
        f"{module.name}: {found}"
        for module in others
        for found in [
            *(other for other, _ in module.imports if is_inside("pyspark.sql.pandas", other)),
            *(version for text in module.texts for version in SPARK_VERSION.findall(text)),
        ]
    )


def test_modules_take_no_private_name_from_each_other() -> None:
    show(
        f"{module.name} -> {other}: {name}"
        for module in modules().values()
        for other, names in module.imports
        if other in every_module()
        for name in names
        if name.startswith("_")
    )


WITHOUT_KAFKAS_LIBRARIES = f"""
import importlib, sys
for library in {sorted(KAFKA)}:
    sys.modules[library] = None
"""


def test_what_is_not_kafkas_can_be_imported_without_kafkas_libraries() -> None:
    """As where headwater is installed without extras."""
    others = (name for name in modules() if not modules()[name].in_kafka_place)
    names = ["headwater", "pyspark_headwater", *others]
    _run(f"for name in {names}: importlib.import_module(name)")


def test_without_a_library_its_source_names_the_install_line() -> None:
    """No such source can be made, and each names the extra that it needs."""
    printed = _run("""
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import MissingDependencyError
from headwater.core.source import Boundedness
sys.modules["paho"] = None
sys.modules["psycopg"] = None
kafka = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "orders"}
mqtt = {"broker": "mqtt://127.0.0.1", "topics": "orders"}
postgres = {"url": "postgresql://127.0.0.1:1/shop", "table": "orders"}
for name, options in (("kafka", kafka), ("mqtt", mqtt), ("postgres", postgres)):
    try:
        made = source_factory(name)(options, Boundedness.BOUNDED)
        made.source.create_reader()
    except MissingDependencyError as error:
        print(error)
""")
    assert "pip install 'headwater[kafka]'" in printed
    assert "pip install 'headwater[mqtt]'" in printed
    assert "pip install 'headwater[postgres]'" in printed


def _run(program: str) -> str:
    command = [sys.executable, "-c", WITHOUT_KAFKAS_LIBRARIES + program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout
