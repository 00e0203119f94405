"""Shares of a budget: among splits in proportion to their backlog, among groups of splits by weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Share: TypeAlias = Callable[[Sequence[int], int], list[int]]
"""Shares a budget among backlogs."""


def share_rows(backlog: Sequence[int], budget: int) -> list[int]:
    """Share a budget of rows among splits in proportion to their backlog, as Spark's ``rateLimit`` does.

    A share is rounded down, but one below 1 is 1, so that no split starves: the sum may be below the budget,
    and above it where there are many small shares. The arithmetic is that of Spark, double precision and the
    order of the operations included.
    """
    total = float(sum(backlog))
    shares = []
    for size in backlog:
        share = budget * (size / total) if size else 0.0
        shares.append(min(size, math.ceil(share) if share < 1 else math.floor(share)))
    return shares


def share_budget(backlog: Sequence[int], budget: int) -> list[int]:
    """Share a budget of bytes among splits in proportion to their backlog, and starve none.

    Every split with a backlog gets at least 1, even if that exceeds the budget. Otherwise the shares add up
    to exactly the budget, or to the whole backlog if that is less; the remainder of rounding goes to the
    largest remainders.
    """
    if sum(backlog) <= budget:
        return list(backlog)
    shares = [min(1, size) for size in backlog]
    spare = budget - sum(shares)
    if spare <= 0:
        return shares
    rest = [size - share for size, share in zip(backlog, shares, strict=True)]
    total = sum(rest)
    shares = [share + size * spare // total for share, size in zip(shares, rest, strict=True)]
    by_remainder = sorted(range(len(rest)), key=lambda at: -(rest[at] * spare % total))
    for at in by_remainder[: budget - sum(shares)]:
        shares[at] += 1
    return shares


def cap_groups(backlog: Sequence[int], groups: Sequence[str], most: Mapping[str, int]) -> list[int]:
    """Return the rows that splits may take if some groups have limits, each shared by `share_rows`."""
    admitted = list(backlog)
    for group, members in _members(groups).items():
        if group in most and sum(backlog[at] for at in members) > most[group]:
            for at, rows in zip(
                members, share_rows([backlog[at] for at in members], most[group]), strict=True
            ):
                admitted[at] = rows
    return admitted


def share_by_weight(
    backlog: Sequence[int], groups: Sequence[str], budget: int, weights: Mapping[str, float], share: Share
) -> list[int]:
    """Share a budget among groups by weight, and the part of a group among its splits.

    A share that a group does not need goes to the others, by their weights. A group with a backlog gets at
    least 1.

    Args:
        backlog: of each split.
        groups: that of each split.
        budget: for all of them.
        weights: more than 0; 1 for groups that are not named.
        share: how splits share the budget of their group.
    """
    if sum(backlog) <= budget:
        return list(backlog)
    members = _members(groups)
    sizes = {group: sum(backlog[at] for at in places) for group, places in members.items()}
    granted = _granted(sizes, budget, weights)
    admitted = list(backlog)
    for group, places in members.items():
        if sizes[group] > granted[group]:
            for at, rows in zip(places, share([backlog[at] for at in places], granted[group]), strict=True):
                admitted[at] = rows
    return admitted


def _members(groups: Sequence[str]) -> dict[str, list[int]]:
    members: dict[str, list[int]] = {}
    for at, group in enumerate(groups):
        members.setdefault(group, []).append(at)
    return members


def _granted(sizes: Mapping[str, int], budget: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return the part of each group: all it needs, or its share of the rest of the budget."""
    waiting = {group: weights.get(group, 1.0) for group, size in sizes.items() if size}
    granted = dict.fromkeys(sizes, 0)
    rest = budget
    while waiting:
        each = rest / sum(waiting.values())
        modest = [group for group, weight in waiting.items() if sizes[group] <= each * weight]
        if not modest:
            return granted | {group: max(1, int(each * weight)) for group, weight in waiting.items()}
        for group in modest:
            granted[group] = sizes[group]
            rest -= sizes[group]
            del waiting[group]
    return granted
