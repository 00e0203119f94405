"""A cache outside the process, shared by all tasks: the contract, and the call that looks there first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from headwater.core.redaction import logger_of

log = logger_of(__name__)
Invoke: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Makes one attempt for a row, or for a list of rows."""


class SharedCache(ABC):
    """A store of results by key, for example in Redis. Pickled to the tasks; connections are made in `open`.

    Everything runs on the loop's thread and must not block. Errors of `get` and `put` are logged, and the
    service is asked instead. Looking up and storing are parts of an attempt: they count towards its timeout
    and fill its slot. How keys and results become bytes, and when entries expire, is up to the
    implementation.
    """

    async def open(self) -> None:  # noqa: B027 - may stay empty
        """Connect. Called once per task, before the first call."""

    async def close(self) -> None:  # noqa: B027 - may stay empty
        """Disconnect. Called once, after the last call."""

    @abstractmethod
    async def get(self, keys: Sequence[Hashable]) -> Mapping[Hashable, Any]:
        """Return the results that are known; keys without one are left out."""

    @abstractmethod
    async def put(self, results: Mapping[Hashable, Any]) -> None:
        """Store results of calls that succeeded, "no rows" (``None``) included."""


def looking_up_first(
    cache: SharedCache,
    invoke: Invoke,
    *,
    is_bulk: bool,
    key: Callable[[Any], Hashable],
    is_storable: Callable[[Any], bool],
    count_hits: Callable[[int, int], None],
) -> Invoke:
    """Return ``invoke`` for the rows that a shared cache does not know; their results are stored there.

    Args:
        cache: open.
        invoke: asks the service about a row, or about many.
        is_bulk: whether about many.
        key: the part of a row on which its result depends.
        is_storable: tells whether a result may be stored.
        count_hits: called with the number of hits, and of rows that were looked up.
    """

    async def ask(rows: Sequence[Any]) -> Sequence[Any]:
        return await invoke(rows) if is_bulk else [await invoke(rows[0])]

    async def look_up(rows: Sequence[Any]) -> Sequence[Any]:
        keys = [key(row) for row in rows]
        cached = await _get(cache, keys)
        missing = [index for index, each in enumerate(keys) if each not in cached]
        count_hits(len(rows) - len(missing), len(rows))
        results = [cached.get(each) for each in keys]
        if not missing:
            return results
        answers = await ask([rows[index] for index in missing])
        if len(answers) != len(missing):
            # Against the contract; the runner of bulk calls sees it and says so.
            return answers
        for index, answer in zip(missing, answers, strict=True):
            results[index] = answer
        await _put(cache, {keys[index]: results[index] for index in missing if is_storable(results[index])})
        return results

    async def look_up_one_row(row: Any) -> Any:
        [result] = await look_up([row])
        return result

    return look_up if is_bulk else look_up_one_row


async def _get(cache: SharedCache, keys: Sequence[Hashable]) -> Mapping[Hashable, Any]:
    try:
        return await cache.get(keys)
    except Exception:
        log.exception("the shared cache cannot be read; the service is asked instead")
        return {}


async def _put(cache: SharedCache, results: Mapping[Hashable, Any]) -> None:
    try:
        if results:
            await cache.put(results)
    except Exception:
        log.exception("the shared cache cannot be written")
