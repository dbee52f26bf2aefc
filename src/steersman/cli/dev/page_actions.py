"""`PageActions`: what a person can do from the web view of `steer dev`.

It runs in the operator's process. Objects are written with a connection of its own, as the user of the kubeconfig, so
injected faults and a moved clock affect the operator only. Every write is validated strictly: a misspelled field is an
error, as in the form that checks a text while it is typed.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from steersman.cli.dev.injected_faults import FAULTS, InjectedFaults
from steersman.cli.dev.movable_clock import MovableClock
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import Clock
from steersman.controller.run.pause import PAUSED
from steersman.errors import ApiError, ConfigError, DecodeError, SteersmanError
from steersman.history.explanation import duration
from steersman.history.records import ObjectName
from steersman.objects.identity import ApiResource
from steersman.objects.resource import Unstructured
from steersman.objects.times import format_time
from steersman.protocol.confidential import is_confidential_resource
from steersman.protocol.manifests import dump, load_objects
from steersman.webview.actions import (
    ACTION_NAMES,
    Action,
    Apply,
    Delete,
    InjectFault,
    MoveClock,
    Pause,
    ReconcileNow,
    Resume,
)

#: The longest that the clock is moved at once.
_LONGEST_MOVE = timedelta(days=366)


class PageActions:
    """Carries out what a person asks for; an `Actions`."""

    offered = ACTION_NAMES
    faults = FAULTS

    def __init__(
        self,
        client: Client,
        reconcile_now: Callable[[ObjectName], bool],
        faults: InjectedFaults,
        moved: MovableClock,
        clock: Clock,
    ) -> None:
        self._client = client.strict()
        self._reconcile_now = reconcile_now
        self._injected = faults
        self._moved = moved
        self._clock = clock

    async def perform(self, action: Action) -> str:
        """Carry out an action and return what was done, as one sentence."""
        match action:
            case ReconcileNow(name):
                return self._reconcile(name)
            case Pause(name, seconds):
                return await self._pause(name, seconds)
            case Resume(name):
                await self._annotate(name, None)
                return f"{name} is reconciled again."
            case Apply(text):
                return await self._apply(text)
            case Delete(name):
                await self._client.delete(await self._ref(name))
                return f"{name} is being deleted."
            case InjectFault(fault):
                return self._injected.inject(fault)
            case MoveClock():
                return self._move(action.seconds)

    async def check(self, text: str) -> tuple[str, ...]:
        """Return what the API server objects to in a YAML text, in its own words, without writing anything."""
        try:
            objects = _objects(text)
        except (DecodeError, ConfigError) as error:
            return (str(error),)
        problems: list[str] = []
        for obj in objects:
            try:
                await self._write(self._client.dry_run(), obj)
            except SteersmanError as error:
                problems += _problems(error)
        return tuple(dict.fromkeys(problems))

    async def document(self, name: ObjectName) -> str | None:
        """Return an object as YAML for editing; ``None`` if it does not exist."""
        resource = await self._resource(name)
        if is_confidential_resource(resource.plural):
            raise ConfigError(f"the web view does not show the content of {resource.gvk.kind} objects: use kubectl")
        found = await self._client.try_get(resource.gvk, name.name, name.namespace or None)
        if found is None:
            return None
        found.metadata.pop("managedFields", None)
        if "status" in found.content:  # last, as people expect it
            found.content["status"] = found.content.pop("status")
        return dump([found])

    def _reconcile(self, name: ObjectName) -> str:
        if not self._reconcile_now(name):
            raise ConfigError(f"{name} does not exist, or the operator does not reconcile it")
        return f"{name} is reconciled now."

    async def _apply(self, text: str) -> str:
        written = [await self._write(self._client, obj) for obj in _objects(text)]
        return f"{', '.join(map(_shown, written))} {'is' if len(written) == 1 else 'are'} applied."

    async def _pause(self, name: ObjectName, seconds: float | None) -> str:
        if seconds is None:
            await self._annotate(name, "true")
            return f"{name} is paused."
        try:
            until = format_time((self._moved.now() + timedelta(seconds=seconds)).replace(microsecond=0))
        except (OverflowError, ValueError):
            until = ""
        if not until or seconds <= 0:
            raise ConfigError(f"an object cannot be paused for {seconds:g} seconds")
        await self._annotate(name, until)
        return f"{name} is paused until {until}."

    async def _annotate(self, name: ObjectName, value: str | None) -> None:
        await self._client.patch(await self._ref(name), {"metadata": {"annotations": {PAUSED: value}}})

    async def _ref(self, name: ObjectName) -> Ref[Any]:
        return Ref((await self._resource(name)).gvk, name.name, name.namespace or None)

    async def _resource(self, name: ObjectName) -> ApiResource:
        return await self._client.discovery.find(f"{name.kind}.{name.group}" if name.group else name.kind)

    @staticmethod
    async def _write(client: Client, obj: Unstructured) -> Unstructured:
        """Create an object, replace the version that a text was made from, or apply a text without a version.

        A text with a version is an object that was edited: what it lacks is removed, and a change of another client in
        the meantime is a conflict. An object that does not exist is not applied but created: the server then names
        every wrong field, and not only the first.
        """
        try:
            if obj.resource_version:
                return await client.replace(obj)
            if obj.name and await client.try_get_metadata(obj.gvk, obj.name, obj.namespace or None) is not None:
                return await client.apply(obj, force=True)
            return await client.create(obj)
        except ValueError as error:  # a name that cannot be part of a URL
            raise ConfigError(f"metadata.name: {error}") from None

    def _move(self, seconds: float) -> str:
        if not 0 < seconds <= _LONGEST_MOVE.total_seconds():
            raise ConfigError(f"the clock cannot be moved by {seconds:g} seconds: choose from 1 second to 366 days")
        self._moved.move(seconds)
        ahead = self._moved.monotonic() - self._clock.monotonic()
        return f"The operator's clock was moved by {duration(seconds)}; it is {duration(ahead)} ahead now."


def _objects(text: str) -> list[Unstructured]:
    """Read the objects of a text; raises ``DecodeError`` or ``ConfigError``."""
    try:
        objects = load_objects(text)
    except ValueError as error:  # without kind or apiVersion
        raise ConfigError(str(error)) from None
    if not objects:
        raise ConfigError("the text has no object")
    for obj in objects:
        metadata = obj.content.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise ConfigError(f"metadata: {metadata!r} is not an object: it needs at least a name")
    return objects


def _problems(error: SteersmanError) -> list[str]:
    """Return every objection of the server on a line of its own."""
    if not isinstance(error, ApiError) or not error.causes:
        return [str(error)]
    return [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in error.causes]


def _shown(obj: Unstructured) -> str:
    return f"{obj.gvk.kind} {obj.key}"
