"""Filling in fields that an author left out."""

from typing import Any

from steersman.apiserver.builtin.common.documents import Document


def set_default(document: Document, **values: Any) -> None:
    """Fill in what is not there; names are the wire names."""
    for name, value in values.items():
        if document.get(name) is None:
            document[name] = value
