"""`Ranks`: the priorities that an author gives to objects (``priority=``), combined with those of the framework.

The rank decides first: a change, a retry and the first reconcile of an object of rank 1 go before a change of rank 0.
Within a rank the framework's own order holds: changes, then retries, then objects that existed at the start. No rank
starves another: the queue hands out a key of each rank at least once in a while.

Ranks are an index of the cache of the reconciled kind: the function is called once for each version of an object.
"""

from collections.abc import Callable
from typing import Any, Final

from steersman.errors import DecodeError
from steersman.informer.informer import Informer
from steersman.informer.record import Record
from steersman.objects.identity import ObjectKey
from steersman.workqueue.pending import ranked

#: The highest rank, and with a minus the lowest.
HIGHEST: Final = 100


def checked_rank(rank: object) -> int:
    """Return a rank that an author's function returned; raise ``ValueError`` for anything else."""
    if not isinstance(rank, int) or isinstance(rank, bool) or not -HIGHEST <= rank <= HIGHEST:
        raise ValueError(f"priority= returned {rank!r}: return an integer from {-HIGHEST} to {HIGHEST}")
    return rank


class Ranks:
    """The ranks of the objects of one controller."""

    def __init__(
        self,
        reconciled: Informer[Any],
        rank_of: Callable[[Any], int] | None,
        failed: Callable[[ObjectKey, BaseException], None],
    ) -> None:
        self._store = reconciled.store
        self._index = ""
        if rank_of is None:
            return

        def extract(record: Record) -> tuple[str, ...]:
            try:
                rank = checked_rank(rank_of(reconciled.decode(record)))
            except DecodeError:
                return ()
            except BaseException as error:  # noqa: BLE001 - an author's function must not stop the cache
                failure = error
                failed(record.key, failure)
                return ()
            return (str(rank),) if rank else ()

        self._index = f"priority/{id(rank_of)}"
        reconciled.ensure_record_index(self._index, extract)

    def priority(self, key: ObjectKey, priority: int) -> int:
        """Return the priority of a key in the queue, given the one that the framework gives to the request."""
        if not self._index:
            return priority
        values = self._store.values_of(self._index, key)
        return ranked(int(values[0]), priority) if values else priority
