"""Makes ``format("headwater")`` known: Spark imports every top-level module called ``pyspark_*``.

Spark does so once in a session, in a process of its own, and registers the ``DefaultSource`` of each module.
An error here would take every Python data source away from the user, also those of other packages. So this
module never raises: where headwater cannot be loaded, the format is registered all the same, and says why
when a query uses it.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from pyspark.sql.datasource import DataSource

__all__ = ["DefaultSource"]

_HERE = Path(__file__).resolve().parent


class _Unusable(DataSource):
    """What Spark registers where headwater cannot be loaded.

    Spark pickles it by its name. The process that makes an instance imports this module anew and so finds the
    same reason.
    """

    def __init__(self, options: dict[str, str]) -> None:
        raise ImportError(_reason) from _cause

    @classmethod
    def name(cls) -> str:
        return "headwater"


def _shadow() -> str | None:
    """Return where Python finds another ``headwater`` first, or None. Runs no code of that one."""
    loaded = sys.modules.get("headwater")
    spec = loaded.__spec__ if loaded else importlib.util.find_spec("headwater")
    origin = spec.origin if spec else None
    if origin and Path(origin).resolve().parent.parent == _HERE:
        return None
    return origin or "none"


_reason = ""
_cause: Exception | None = None
DefaultSource: type[DataSource] = _Unusable
try:
    if _other := _shadow():
        _reason = (
            f"headwater needs its own package 'headwater' in {_HERE}, but Python finds {_other}: "
            "rename that one, or start Spark from another folder"
        )
    else:
        from headwater.connector.spark.datasource import HeadwaterDataSource as DefaultSource
except Exception as _error:  # noqa: BLE001 - an error here would take every Python data source away
    _cause = _error
    _reason = (
        f"headwater in {_HERE} cannot be loaded by {sys.executable} ({type(_error).__name__}: {_error}): "
        "install it anew, with pip install --force-reinstall headwater"
    )
