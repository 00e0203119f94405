"""Settings of the session, in a task: above all the time zone of times that are written without one."""

from __future__ import annotations

from dataclasses import replace

from pyspark import TaskContext

from headwater.connector.compat import worker_zone
from headwater.core.errors import OptionError
from headwater.readers.formats.format import DecodedPart

_SESSION_ZONE = "spark.sql.session.timeZone"


def with_session_zone(part: DecodedPart) -> DecodedPart:
    """Return a part whose format knows the session's zone, if it needs one and the user gave none. In a task.

    Raises:
        OptionError: Spark has not told it.
    """
    if not part.zone_option:
        return part
    return replace(part, format=part.format.in_time_zone(session_zone(part.zone_option)))


def session_zone(option: str) -> str:
    """Return the session's time zone. In a task.

    Args:
        option: in which the user may name a zone instead.

    Raises:
        OptionError: Spark has not told it: this is no task of Spark.
    """
    zone = known_session_zone()
    if zone is None:
        raise OptionError(
            "is required: times are written without a zone, or may be, and Spark has not told the zone of "
            f"the session ({_SESSION_ZONE})",
            option=option,
        )
    return zone


def known_session_zone() -> str | None:
    """Return the session's time zone; None outside of tasks. In a task, on the thread that Spark calls.

    Without a setting it is the default of the driver's JVM, as in Spark.
    """
    return session_setting(_SESSION_ZONE) or worker_zone()


def session_setting(name: str) -> str | None:
    """Return a setting of the session; None if it is not set, and outside of tasks.

    Spark tells tasks the settings that a session was given, and not its defaults.
    """
    context = TaskContext.get()
    return (context.getLocalProperty(name) or None) if context is not None else None
