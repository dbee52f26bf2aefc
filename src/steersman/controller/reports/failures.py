"""Unexpected exceptions of authors' functions, for listeners such as an error tracker.

The history has the masked text of a failure; this has the exception itself, with its traceback.
"""

import traceback
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from steersman.objects.identity import ObjectKey


class ReconcileFailure(Struct, frozen=True):
    """An unexpected exception of an author's function; the key is retried with back-off."""

    #: Name of the controller, as in logs and metrics.
    controller: str
    kind: str
    #: The object that was reconciled, or the changed object that could not be mapped to keys.
    key: ObjectKey
    error: BaseException

    def __str__(self) -> str:
        # Works for exceptions whose own __str__ raises, too.
        text = "".join(traceback.format_exception_only(self.error)).strip()
        return f"{self.kind} {self.key} ({self.controller}): {text}"


#: Called with each failure, on the event loop; must neither block nor raise.
FailureListener: TypeAlias = Callable[[ReconcileFailure], None]


def ignore_failure(failure: ReconcileFailure) -> None:
    """Ignore a failure: it is logged and counted anyway."""
