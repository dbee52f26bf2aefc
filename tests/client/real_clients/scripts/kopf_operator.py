"""An operator written with kopf: a handler for creation, updates and deletion, a status and a finalizer."""

from typing import Any

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Keep the operator quiet and quick."""
    settings.posting.enabled = True
    settings.networking.request_timeout = 5
    settings.persistence.finalizer = "demo.dev/kopf"


@kopf.on.create("demo.dev", "v1", "widgets")
def created(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
    """Write the colour into the status."""
    patch.status["phase"] = f"made {spec['color']}"


@kopf.on.update("demo.dev", "v1", "widgets", field="spec.color")
def changed(old: str, new: str, patch: kopf.Patch, **_: Any) -> None:
    """Write the change into the status."""
    patch.status["phase"] = f"{old} became {new}"


@kopf.on.delete("demo.dev", "v1", "widgets")
def deleted(name: str, body: kopf.Body, **_: Any) -> None:
    """Post an Event about the cleanup."""
    kopf.info(body, reason="Cleaned", message=f"{name} is cleaned up")
