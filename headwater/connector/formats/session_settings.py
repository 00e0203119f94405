"""Settings of the session, in a task: above all the time zone of times that are written without one."""

from __future__ import annotations

from dataclasses import replace

from pyspark import TaskContext

from headwater.core.errors import OptionError
from headwater.readers.formats.format import DecodedPart

_SESSION_ZONE = "spark.sql.session.timeZone"


def with_session_zone(part: DecodedPart) -> DecodedPart:
    """Return a part whose format knows the session's zone, if it needs one and the user gave none. In a task.

    Raises:
        OptionError: nobody has set it.
    """
    if not part.zone_option:
        return part
    return replace(part, format=part.format.in_time_zone(session_zone(part.zone_option)))


def session_zone(option: str) -> str:
    """Return the session's time zone. In a task.

    It is known only if somebody has set it. The default, the zone of the driver's host, is not for a task to
    guess.

    Args:
        option: in which the user may name a zone instead.

    Raises:
        OptionError: nobody has set it.
    """
    zone = known_session_zone()
    if zone is None:
        raise OptionError(
            "is required: times are written without a zone, or may be, and nobody has set "
            f"{_SESSION_ZONE}; set one of the two",
            option=option,
        )
    return zone


def known_session_zone() -> str | None:
    """Return the session's time zone; None if nobody has set it. In a task."""
    return session_setting(_SESSION_ZONE)


def session_setting(name: str) -> str | None:
    """Return a setting of the session; None if it is not set, and outside of tasks.

    Spark tells tasks the settings that a session was given, and not its defaults.
    """
    context = TaskContext.get()
    return (context.getLocalProperty(name) or None) if context is not None else None
