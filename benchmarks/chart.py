"""The chart of the README."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import Section

__all__ = ["draw"]

_COLOURS = ("#8c8c8c", "#0072b2", "#d9d9d9", "#bfcad6")
_SHOWN = {
    "throughput": (1e-6, "million rows a second, more is better"),
    "formats": (1e-6, "million rows a second, more is better"),
    "latency": (1.0, "milliseconds, less is better"),
}
"""What is drawn: by benchmark, the factor and the axis, both of the unit of its first figure."""


def draw(sections: Sequence[Section], path: Path) -> bool:
    """Write the chart as a PNG; return False, and write nothing, if there is nothing to draw."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = [section for section in sections if section.name in _SHOWN]
    if not shown:
        return False
    figure, axes = plt.subplots(
        1, len(shown), figsize=(6.5 * len(shown), 4), squeeze=False, layout="constrained"
    )
    for axis, section in zip(axes[0], shown, strict=True):
        _bars(axis, section)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return True


def _bars(axis: Any, section: Section) -> None:
    factor, label = _SHOWN[section.name]
    figures = [figure for figure in section.figures if figure.unit == section.figures[0].unit]
    cases, subjects = (
        list(dict.fromkeys(getattr(figure, what) for figure in figures)) for what in ("case", "subject")
    )
    medians = {(figure.case, figure.subject): figure.median * factor for figure in figures}
    width = 0.8 / len(subjects)
    for i, subject in enumerate(subjects):
        shift = (i - (len(subjects) - 1) / 2) * width
        measured = [place for place, case in enumerate(cases) if (case, subject) in medians]
        bars = axis.bar(
            [place + shift for place in measured],
            [medians[cases[place], subject] for place in measured],
            width * 0.94,
            label=subject,
            color=_COLOURS[i % len(_COLOURS)],
        )
        axis.bar_label(bars, fmt="%.2f" if factor < 1 else "%.0f", padding=2, fontsize=8)
    axis.set_xticks(range(len(cases)), [case.replace(", ", "\n") for case in cases], fontsize=8)
    axis.set_ylabel(label)
    axis.set_title(section.title, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
