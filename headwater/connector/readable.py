"""Errors as a person reads them in Spark's output: one line, the last one of Python's part.

Spark shows an error of Python as text: the traceback, then the type and the message. Where an error leaves
headwater for Spark, its message becomes one line of its own that begins with ``headwater:``. So it can be
found by eye and by `explain`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from headwater.connector.program_arguments import misfit
from headwater.core.errors import HeadwaterError

if TYPE_CHECKING:
    from types import TracebackType

P = ParamSpec("P")
T = TypeVar("T")

_MARK: Final = "headwater: "
_OF_PY4J: Final = "An error occurred while calling "
"""The beginning of Py4J's message of an error of the JVM, which means nothing to a user."""

_MARKED: Final = re.compile(r"^\s*headwater: (.+?)\s*$", re.MULTILINE)


def readable(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method that Spark calls: its errors become readable."""

    @wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except HeadwaterError as error:
            _marked(error)
            if error.is_meant:
                # Where headwater found it out says nothing about it: no frame of ours but this one.
                raise error.with_traceback(None) from None
            raise

    return called


def readable_rows(rows: Iterator[T]) -> Generator[T, None, None]:
    """Yield the batches of a task. An error on the way is readable."""
    try:
        yield from rows
    except HeadwaterError as error:
        _marked(error)
        if error.is_meant:
            raise error.with_traceback(None) from None
        raise


def _marked(error: HeadwaterError) -> HeadwaterError:
    """Make the message of an error a line of its own, which its notes are part of."""
    message = str(error)
    if message.lstrip().startswith(_MARK):
        return error
    notes = error.__dict__.pop("__notes__", [])
    line = " ".join("; ".join([message, *notes]).split())
    error.args = (f"\n{_MARK}{line}",)
    if isinstance(error, ImportError):
        # Its text is not that of its arguments.
        error.msg = error.args[0]
    return error


def explain(error: BaseException) -> str:
    """Return headwater's message of an error, in one line without the tracebacks around it.

    For any error of a query: one of PySpark, of a stream, of Spark Connect or of headwater itself.
    Without a message of headwater, the first line of the error that is not empty.

    Raises:
        OptionError: it is no exception. ``query.exception()`` returns None for a query that has not failed.
    """
    if not isinstance(error, BaseException):
        hint = ": query.exception() is None as long as a query has not failed" if error is None else ""
        raise _marked(misfit("error", "an exception", error, hint))
    for text in _texts(error):
        message = said_in(text)
        if message is not None:
            return message
    if isinstance(error, HeadwaterError):
        return str(error)
    lines = (line.strip().removeprefix(": ") for line in str(error).splitlines())
    telling = (line for line in lines if line and not line.startswith(_OF_PY4J))
    return ": ".join([type(error).__name__, *islice(telling, 1)])


def said_in(text: str) -> str | None:
    """Return headwater's message in Spark's text of an error; None if there is none."""
    messages = _MARKED.findall(text)
    return str(messages[-1]) if messages else None


def _texts(error: BaseException) -> Iterator[str]:
    """Yield where the message may stand: in the error, or in one that it was made from."""
    seen: BaseException | None = error
    while seen is not None:
        yield str(seen)
        seen = seen.__cause__ or seen.__context__


def install_excepthook() -> None:
    """Show errors of headwater as one line, in this program and in this notebook.

    An error that nothing catches is shown without its tracebacks if there is a message of headwater;
    any other error as before. ``sys.last_value`` keeps all of it.
    """
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if not _show(error):
            previous(kind, error, traceback)

    sys.excepthook = hook
    # IPython shows errors itself, and asks no hook.
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        shell.set_custom_exc((Exception,), _shown_in_notebook)


def _shown_in_notebook(
    shell: Any, kind: type[BaseException], error: BaseException, traceback: Any, **how: Any
) -> None:
    message = _message(error)
    if message is None:
        shell.showtraceback((kind, error, traceback), **how)
    else:
        # An error, and not a text on stderr: the notebook that is saved has it, and a run of it stops there.
        shell._showtraceback(kind, error, [message])  # noqa: SLF001 - what `showtraceback` ends with


def _show(error: BaseException) -> bool:
    """Write headwater's message of an error to stderr; return whether there is one."""
    message = _message(error)
    if message is not None:
        sys.stderr.write(f"{message}\n")
    return message is not None


def _message(error: BaseException) -> str | None:
    """Return headwater's message of an error, which is kept in ``sys.last_value``; None if it has none."""
    if not isinstance(error, HeadwaterError) and all(said_in(text) is None for text in _texts(error)):
        return None
    sys.last_value = error
    return f"{_MARK}{explain(error)}"
