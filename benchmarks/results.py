"""What a benchmark found, as Markdown and as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Figure",
    "Section",
    "Target",
    "as_json",
    "as_markdown",
    "measured",
    "median_of",
    "percentile",
    "table",
]


@dataclass(frozen=True)
class Figure:
    """One quantity of one subject, measured some times.

    Attributes:
        case: what was done, for example ``1 KB``.
        subject: who did it.
        unit: of the samples.
        samples: in the order in which they were taken.
    """

    case: str
    subject: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the samples."""
        return statistics.median(self.samples)


@dataclass(frozen=True)
class Target:
    """What is to be reached.

    Attributes:
        what: in words.
        wanted: the limit.
        reached: what was found.
        at_least: whether more is better.
        unit: of both.
    """

    what: str
    wanted: float
    reached: float
    at_least: bool = True
    unit: str = "x"

    @property
    def met(self) -> bool:
        """Whether it is reached."""
        return self.reached >= self.wanted if self.at_least else self.reached <= self.wanted

    def row(self) -> tuple[str, ...]:
        """Return the target as cells of a table."""
        sign = ">=" if self.at_least else "<="
        return (
            self.what,
            f"{sign} {self.wanted:,.4g} {self.unit}",
            f"{self.reached:,.4g} {self.unit}",
            "yes" if self.met else "no",
        )


@dataclass(frozen=True)
class Section:
    """The report of one benchmark.

    Attributes:
        name: of the benchmark.
        title: for people.
        about: what the numbers are, in a sentence or two.
        header: of the table.
        rows: of the table.
        figures: everything that was measured.
        targets: what the project promises.
        details: for the JSON file only.
    """

    name: str
    title: str
    about: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Sequence[Figure]
    targets: Sequence[Target]
    details: Mapping[str, Any] = field(default_factory=dict)


def median_of(figures: Iterable[Figure], case: str, subject: str) -> float:
    """Return the median of the one figure of this case and subject."""
    return next(figure.median for figure in figures if (figure.case, figure.subject) == (case, subject))


def percentile(samples: Sequence[float], percent: int) -> float:
    """Return the smallest sample that is not below ``percent`` % of them (nearest rank)."""
    ranked = sorted(samples)
    return ranked[max(0, -(-len(ranked) * percent // 100) - 1)]


def as_markdown(sections: Sequence[Section], environment: Mapping[str, Any]) -> str:
    """Return the report."""
    lines = [f"{measured(environment)} Medians."]
    for section in sections:
        lines += ["", f"### {section.title}", "", section.about, "", *table(section.header, section.rows)]
        if section.targets:
            lines += [
                "",
                *table(("target", "wanted", "reached", "met"), [target.row() for target in section.targets]),
            ]
    return "\n".join(lines) + "\n"


def measured(environment: Mapping[str, Any]) -> str:
    """Return in a sentence when, how and on what was measured."""
    machine = environment["machine"]
    versions = environment["versions"]
    tools = ", ".join(
        f"{name} {versions[name]}" for name in ("headwater", "pyspark", "kafka", "java", "python")
    )
    host = f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gb']:.0f} GB"
    return f"Measured on {environment['date'][:10]} with `{environment['command']}`: {host}; {tools}."


def as_json(sections: Sequence[Section], environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything, each sample included."""
    return {
        **environment,
        "benchmarks": {
            section.name: {
                "about": section.about,
                "figures": [{**vars(figure), "median": figure.median} for figure in section.figures],
                "targets": [{**vars(target), "met": target.met} for target in section.targets],
                "details": section.details,
            }
            for section in sections
        },
    }


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    ruler = ["---", *["---:"] * (len(header) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (header, ruler, *rows)]
