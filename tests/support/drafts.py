"""Drafts of records that count how often the record is made."""

from msgspec.structs import replace

from steersman.history.history import ReconcileDraft
from steersman.history.records import Reconcile


class CountedDraft(ReconcileDraft, frozen=True):
    """The draft of a record, which counts how often the record is made."""

    content: Reconcile
    makes: list[bool]
    fails: bool = False

    @property
    def made(self) -> int:
        """How often the record was made."""
        return len(self.makes)

    def record(self, *, with_details: bool = True) -> Reconcile:
        """Return the record."""
        self.makes.append(with_details)
        if self.fails and with_details:
            raise ValueError("no details")
        return self.content if with_details else replace(self.content, is_cut=True)


def drafted(content: Reconcile, size: int = 1000, *, fails: bool = False) -> CountedDraft:
    """Create the draft of a record."""
    end = (content.controller, content.seconds, None, False)
    return CountedDraft(*end, content.object, size, content, [], fails)
