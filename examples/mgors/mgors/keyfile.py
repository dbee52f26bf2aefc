"""The keyfile of a replica set, and its rotation without downtime: pure functions.

A keyfile can have several keys: a mongod accepts each of them from others, and tries all of them itself. So a rotation
replaces the pods twice, by the same rules as an update:

1. a second key is added; members with one key and with both accept the first;
2. when every member *has proved* that it accepts the second key, the first one is removed. Members with both keys and
   with the new one accept the second.

That a pod belongs to the current template proves nothing: a kubelet may have mounted an older Secret.
"""

import hashlib
from dataclasses import dataclass, field

from mgors.actions import Action, NoAction
from mgors.members import Answered
from mgors.situation import Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyfile:
    """The content of the Secret."""

    keys: tuple[str, ...] = field(repr=False)
    #: The ``auth.keyfileRevision`` that the newest key was generated for; empty for a keyfile that was never rotated.
    revision: str = ""

    @classmethod
    def parse(cls, text: str, revision: str = "") -> "Keyfile":
        """Parse a keyfile: one key, or a YAML list of keys."""
        lines = [line.strip() for line in text.strip().splitlines()]
        if lines and all(line.startswith("- ") for line in lines):
            return cls(keys=tuple(line.removeprefix("- ").strip() for line in lines), revision=revision)
        return cls(keys=(text.strip(),), revision=revision)

    @property
    def text(self) -> str:
        """The file that mongod reads."""
        return self.keys[0] if len(self.keys) == 1 else "".join(f"- {key}\n" for key in self.keys)

    @property
    def key(self) -> str:
        """The key that every member accepts, in each phase of a rotation."""
        return self.keys[0]

    @property
    def mark(self) -> str:
        """Identifies the content in the pod template, so that a rotation replaces pods; empty before the first one."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12] if self.revision else ""

    @property
    def is_rotating(self) -> bool:
        """Whether there are two keys."""
        return len(self.keys) > 1

    def with_next(self, key: str, revision: str) -> "Keyfile":
        """Return the keyfile of the first phase."""
        return Keyfile(keys=(self.key, key), revision=revision)

    def with_last_only(self) -> "Keyfile":
        """Return the keyfile of the second phase."""
        return Keyfile(keys=self.keys[-1:], revision=self.revision)


def is_settled(situation: Situation, action: Action) -> bool:
    """Return whether nothing is to be done and every member responds, so that a next phase may begin."""
    is_complete = all(isinstance(slot.reach, Answered) for slot in situation.slots)
    return isinstance(action, NoAction) and not situation.is_busy and is_complete and bool(situation.slots)
