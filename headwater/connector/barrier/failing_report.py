"""What the driver says of splits that fail."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headwater.connector.barrier.offsets import EpochId
from headwater.core.epoch import Failing
from headwater.core.split import SplitPath

log = logging.getLogger(__name__)


def warn_of_failing(epoch: EpochId, failing: Mapping[SplitPath, Failing], retry_deadline_ms: int) -> None:
    """Log once an epoch which splits failed in it and made no progress since."""
    failed = {path: trouble for path, trouble in failing.items() if trouble.reason}
    if not failed:
        return
    path, longest = max(failed.items(), key=lambda item: item[1].lasting_ms)
    log.warning(
        "epoch %d: %d splits failed and made no progress; split %s for %d s now, in %d attempts: %s. "
        "The query ends after %d s of that (option retryDeadline)",
        epoch.number,
        len(failed),
        "-".join(path),
        longest.lasting_ms // 1000,
        longest.failures,
        longest.reason,
        retry_deadline_ms // 1000,
    )
