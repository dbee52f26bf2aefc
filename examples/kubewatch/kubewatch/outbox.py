"""Pending notifications of one handler: at most one for each object, however often it changes.

Pure: the time is an argument, and nothing is sent from here.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from steersman import ObjectKey

from kubewatch.notification import Notification

#: Seconds before the second attempt; doubled with each, up to the maximum.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
#: Maximum number of pending notifications; beyond that the oldest is given up.
LIMIT = 10_000

Subject = tuple[str, str, ObjectKey]


@dataclass(frozen=True)
class Pending:
    """A pending notification."""

    notification: Notification
    #: Number of failed deliveries.
    failures: int = 0


class Outbox:
    """The pending notifications of one handler, oldest first."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Create an empty outbox."""
        self._limit = limit
        self._pending: dict[Subject, Pending] = {}
        #: Time of the next attempt, for all notifications: a failure is one of the handler.
        self._not_before: datetime | None = None

    def __len__(self) -> int:
        """Return the number of pending notifications."""
        return len(self._pending)

    def put(self, notification: Notification) -> Pending | None:
        """Add a notification, merged with a pending one of the same object; return one that had to be given up."""
        waiting = self._pending.get(notification.subject)
        if waiting is not None:
            self._pending[notification.subject] = Pending(waiting.notification.merge(notification), waiting.failures)
            return None
        self._pending[notification.subject] = Pending(notification)
        return self._pending.pop(next(iter(self._pending))) if len(self._pending) > self._limit else None

    def take(self, now: datetime) -> Pending | None:
        """Remove and return the next notification, unless there is none or the handler must wait."""
        if not self._pending or self.pause(now) > 0:
            return None
        return self._pending.pop(next(iter(self._pending)))

    def delivered(self) -> None:
        """Record that the handler works."""
        self._not_before = None

    def failed(self, pending: Pending, now: datetime, *, max_retries: int) -> Pending | None:
        """Put a failed notification back in front and delay the handler; return it after its last retry."""
        failures = pending.failures + 1
        pause = min(_FIRST_PAUSE * 2.0 ** (failures - 1), _LONGEST_PAUSE)
        self._not_before = now + timedelta(seconds=pause)
        if failures > max_retries:
            return Pending(pending.notification, failures)
        subject = pending.notification.subject
        later = self._pending.pop(subject, None)
        notification = pending.notification if later is None else pending.notification.merge(later.notification)
        self._pending = {subject: Pending(notification, failures), **self._pending}
        return None

    def pause(self, now: datetime) -> float:
        """Return the seconds until the next attempt; 0 if it may be made now."""
        return 0.0 if self._not_before is None else max((self._not_before - now).total_seconds(), 0.0)

    def __repr__(self) -> str:
        """Show the number of pending notifications."""
        return f"<Outbox pending={len(self._pending)}>"
