"""Settings of the session, in a task."""

from __future__ import annotations

from pyspark import TaskContext

__all__ = ["session_setting"]


def session_setting(name: str) -> str | None:
    """Return what a session was given for a setting; None if nobody has set it, and outside of tasks.

    Spark tells tasks the settings that a session was given, and not its defaults.
    """
    context = TaskContext.get()
    return (context.getLocalProperty(name) or None) if context is not None else None
