"""`KeptCluster`: a cluster that is read from a directory, and written back to it as it changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steersman.apiserver.journal.directory import DataDirectory
from steersman.apiserver.journal.journal import Journal
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.clock import Clock


@dataclass(frozen=True, slots=True)
class KeptCluster:
    """A objects of all objects, the journal that its writes go to, and where that is."""

    directory: DataDirectory
    objects: ObjectStore
    journal: Journal


@contextmanager
def kept_cluster(path: Path, clock: Clock) -> Iterator[KeptCluster]:
    """Take up the cluster in a directory, or begin one there; after the block everything is written.

    Raises ConfigError if the directory is in use, or if what is there cannot be read.
    """
    directory = DataDirectory(path)
    with directory.locked():
        store = directory.load()
        journal = Journal(directory.open())
        objects = ObjectStore(store, clock)
        objects.observers.append(journal.observe)
        try:
            yield KeptCluster(directory, objects, journal)
        finally:
            journal.close()
