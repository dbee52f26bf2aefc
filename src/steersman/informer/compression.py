"""`Compression`: objects of a large cache that have not changed lately are kept compressed, transparently to readers.

Objects of one kind resemble each other, so a zstd dictionary that is trained on some of them makes the others small: an
object of 2 KB takes 150 to 400 bytes. Training needs some objects and reading a compressed one takes time, so a cache
is left alone until it is large; most never are.

Order::

    cache is small ──▶ larger than ``above`` ──▶ dictionary trained ──▶ everything in the cache compressed
                                                                          │
                                          an object changes: it is hot ◀──┤
                    it does not change for ``HOT_SECONDS``: compressed ───┘

An object that has changed a moment ago is about to be reconciled and to change again, so a flood of changes costs what
it costs in a small cache. There is no timer: cold objects are compressed, a bounded number at a time, when the watch
brings anything, be it a bookmark. What is not known is who reads which object, and reads do not make an object hot:
readers are in any thread and must not write.

``compression.zstd`` is part of Python 3.14; before, ``steersman[zstd]`` installs the same code as ``backports.zstd``.
Without it nothing is compressed.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Final

from steersman.informer.growth import LARGE
from steersman.informer.record import Codec, Record
from steersman.objects.identity import ObjectKey

#: Bytes of cached objects from which they are compressed. Smaller caches do no harm, and sync faster as they are.
COMPRESS_ABOVE: Final = LARGE
#: Seconds without a change after which an object is compressed.
HOT_SECONDS: Final = 60.0
#: Number of objects that are compressed at once; a few milliseconds.
_AT_ONCE = 1000
#: Objects that a dictionary is trained on, how much of each, and its size: more does not make objects smaller, and
#: training takes 50 ms for each MB.
_SAMPLES, _SAMPLE_BYTES, _DICTIONARY_BYTES = 400, 4096, 16 * 1024
#: Compresses twice as well as level 1 and is as fast, because of the dictionary.
_LEVEL = 3
#: An object stays as it is if compression saves less than one part in so many.
_WORTH = 4


#: Returns the codec for objects like these; ``None`` if there is no zstd, or nothing to learn from them.
Train = Callable[[list[bytes]], Codec | None]


def train_zstd(samples: list[bytes]) -> Codec | None:
    """Train a zstd dictionary; return ``None`` if zstd is not installed, or finds nothing in common."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd  # noqa: PLC0415 - most operators have no cache that is large enough
        else:
            from backports import zstd  # noqa: PLC0415 - an optional dependency
    except ImportError:
        return None
    try:
        dictionary = zstd.train_dict(samples, _DICTIONARY_BYTES)
    except (zstd.ZstdError, ValueError):
        return None
    parameters: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _LEVEL,
        # Every frame of a cache has the same dictionary, and its number takes four bytes.
        zstd.CompressionParameter.dict_id_flag: 0,
    }
    compressor = zstd.ZstdCompressor(options=parameters, zstd_dict=dictionary)
    return Codec(
        compress=partial(compressor.compress, mode=compressor.FLUSH_FRAME),
        # Each call creates a context, so that threads do not share one.
        decompress=partial(zstd.decompress, zstd_dict=dictionary.as_digested_dict),
    )


def return_free_memory() -> None:
    """Return freed memory to the system, where the C library can: what was in use before it was compressed.

    Freed pieces between others stay with the process otherwise, and the limit of a container counts them.
    """
    import ctypes  # noqa: PLC0415 - see above

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # only glibc has it
        return


class Compression:
    """Decides which records of a store are compressed, and compresses them. For the one writer of the store.

    ``monotonic`` returns seconds that never go back.
    """

    def __init__(
        self, monotonic: Callable[[], float], above: int | None = COMPRESS_ABOVE, *, train: Train = train_zstd
    ) -> None:
        self._monotonic = monotonic
        #: Size of a store above which there is something to do; so a small one, and one without zstd, ask nothing else.
        self.threshold = float("inf") if above is None else float(above)
        self._train = train
        self._codec: Codec | None = None
        #: When each object changed that is not compressed because of it, oldest first.
        self._hot: OrderedDict[ObjectKey, float] = OrderedDict()

    @property
    def is_active(self) -> bool:
        """Whether objects are compressed."""
        return self._codec is not None

    def begin(self, records: Collection[Record], size: int) -> bool:
        """Train the dictionary if records of this size need one; return whether that made compression active."""
        if size <= self.threshold or self._codec is not None:
            return False
        step = len(records) // _SAMPLES + 1
        samples = [record.data[:_SAMPLE_BYTES] for index, record in enumerate(records) if index % step == 0]
        self._codec = self._train(samples)
        self.threshold = float("inf") if self._codec is None else -1.0
        return self._codec is not None

    def changed(self, key: ObjectKey) -> None:
        """Note that an object changed: it is hot from now on."""
        self._hot[key] = self._monotonic()
        self._hot.move_to_end(key)

    def cold(self) -> Iterator[ObjectKey]:
        """Yield the keys of objects that are not hot any more, each once and not too many."""
        limit = self._monotonic() - HOT_SECONDS
        for _ in range(min(len(self._hot), _AT_ONCE)):
            key, changed_at = next(iter(self._hot.items()))
            if changed_at > limit:
                return
            del self._hot[key]
            yield key

    def removed(self, key: ObjectKey) -> None:
        """Note that an object was deleted."""
        self._hot.pop(key, None)

    def compressed(self, record: Record) -> Record:
        """Return a record with compressed content; the same one if there is no codec, or nothing is gained."""
        codec = self._codec
        if codec is None or record.codec is not None:
            return record
        content = codec.compress(record.content)
        return record if len(content) * _WORTH > len(record.content) * (_WORTH - 1) else record.stored(content, codec)

    def all_compressed(self, records: Iterable[Record]) -> list[Record]:
        """Return the records of a complete state, compressed if they are many."""
        listed = list(records)
        if self._codec is None and not self.begin(listed, sum(len(record.content) for record in listed)):
            return listed
        return [self.compressed(record) for record in listed]

    def __repr__(self) -> str:
        return f"<Compression threshold={self.threshold:g} active={self.is_active} hot={len(self._hot)}>"
