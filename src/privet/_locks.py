"""Locks of the whole process, made anew in a forked child."""

import os
import threading
from typing import final


@final
class ProcessLock:
    """A lock that a forked child can take: another thread may have held it there, and would never give it back.

    >>> lock = ProcessLock()
    >>> with lock.held:
    ...     lock.held.locked()
    True
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.held = threading.Lock()
