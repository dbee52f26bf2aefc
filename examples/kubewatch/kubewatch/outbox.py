"""What waits to be told to one handler: at most one notification for each object, whatever happens meanwhile.

Pure: the time is handed in, and nothing is sent from here.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from steersman import ObjectKey

from kubewatch.notification import Notification

#: Seconds before the second attempt; it doubles with each, up to the longest.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
#: Objects that one handler may be behind; beyond that the oldest notification is given up.
LIMIT = 10_000

Subject = tuple[str, str, ObjectKey]


@dataclass(frozen=True)
class Letter:
    """A notification on its way."""

    notification: Notification
    #: How often it could not be delivered.
    failures: int = 0


class Outbox:
    """The letters to one handler, oldest first."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Begin empty."""
        self._limit = limit
        self._letters: dict[Subject, Letter] = {}
        #: When the handler may be tried again: one that failed fails for all letters.
        self._not_before: datetime | None = None

    def __len__(self) -> int:
        """Give how many letters wait."""
        return len(self._letters)

    def put(self, notification: Notification) -> Letter | None:
        """Add a notification, to one about the same object if it waits; give a letter that had to make room."""
        waiting = self._letters.get(notification.subject)
        if waiting is not None:
            self._letters[notification.subject] = Letter(waiting.notification.then(notification), waiting.failures)
            return None
        self._letters[notification.subject] = Letter(notification)
        return self._letters.pop(next(iter(self._letters))) if len(self._letters) > self._limit else None

    def take(self, now: datetime) -> Letter | None:
        """Take the next letter out, if there is one and the handler may be tried."""
        if not self._letters or self.pause(now) > 0:
            return None
        return self._letters.pop(next(iter(self._letters)))

    def delivered(self) -> None:
        """Note that the handler works."""
        self._not_before = None

    def failed(self, letter: Letter, now: datetime, *, max_retries: int) -> Letter | None:
        """Put a letter back in front that could not be delivered, and let the handler rest; give it if it is dead."""
        failures = letter.failures + 1
        pause = min(_FIRST_PAUSE * 2.0 ** (failures - 1), _LONGEST_PAUSE)
        self._not_before = now + timedelta(seconds=pause)
        if failures > max_retries:
            return Letter(letter.notification, failures)
        subject = letter.notification.subject
        later = self._letters.pop(subject, None)
        notification = letter.notification if later is None else letter.notification.then(later.notification)
        self._letters = {subject: Letter(notification, failures), **self._letters}
        return None

    def pause(self, now: datetime) -> float:
        """Give how many seconds the handler must be left alone; 0 if it may be tried."""
        return 0.0 if self._not_before is None else max((self._not_before - now).total_seconds(), 0.0)

    def __repr__(self) -> str:
        """Show how much waits."""
        return f"<Outbox letters={len(self._letters)}>"
