"""Warnings of the API server, each logged once."""

import logging
from collections import OrderedDict
from collections.abc import Iterable

_log = logging.getLogger("steersman.client")

#: Number of texts that are remembered; some contain names of objects, so that there can be any number of them.
_REMEMBERED = 1000


class Warnings:
    """Log each text once, however often the server repeats it."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, None] = OrderedDict()

    def show(self, texts: Iterable[str]) -> None:
        """Log the texts that are new."""
        for text in texts:
            if text in self._shown:
                self._shown.move_to_end(text)
                continue
            self._shown[text] = None
            if len(self._shown) > _REMEMBERED:
                self._shown.popitem(last=False)
            _log.warning("warning from the API server: %s", text)

    def __repr__(self) -> str:
        return f"<Warnings shown={len(self._shown)}>"
