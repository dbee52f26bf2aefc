"""Carries out a sequence of operations as a user does, who waits after each step until everything is at rest."""

from typing import assert_never

from steersman.errors import ApiError, Invalid, NotFound, SteersmanError
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.simulation.operations.sequences import Delete, OperationSequence, Reject, Set
from steersman.testing.cluster import Cluster

_NAME = "generated"


class NotAllowed(SteersmanError):  # noqa: N818 - named as our errors are
    """The server does not allow a change that the schema allows, such as one of an immutable field."""


class Player:
    """Plays one sequence in a cluster; a scenario."""

    def __init__(self, sequence: OperationSequence, gvk: GroupVersionKind, *, is_namespaced: bool) -> None:
        self._sequence = sequence
        self._gvk = gvk
        self._namespace = "default" if is_namespaced else None

    def __repr__(self) -> str:
        return f"<Player {self._sequence}>"

    async def __call__(self, cluster: Cluster) -> None:
        """Carry out every step."""
        for step in self._sequence.steps:
            match step:
                case Set(spec):
                    await self._set(cluster, spec)
                case Reject(spec):
                    await self._reject(cluster, spec)
                case Delete():
                    await self._delete(cluster)
                case _:
                    assert_never(step)
            await cluster.settle()

    async def _set(self, cluster: Cluster, spec: JsonObject) -> None:
        try:
            await self._write(cluster, spec)
        except ApiError as error:
            if error.code in {400, 403, 409, 422}:
                raise NotAllowed(f"{self._sequence.kind} cannot get the spec {spec}: {error}") from error
            raise

    async def _reject(self, cluster: Cluster, spec: JsonObject) -> None:
        try:
            await self._write(cluster, spec)
        except Invalid:
            return
        raise NotAllowed(f"the server accepts {spec}, which the schema does not allow")

    async def _write(self, cluster: Cluster, spec: JsonObject) -> None:
        try:
            found = await cluster.client.get(self._gvk, _NAME, self._namespace)
        except NotFound:
            await cluster.client.create(Unstructured.of(self._gvk, _NAME, self._namespace, spec=spec))
            return
        found.content["spec"] = spec
        await cluster.client.replace(found)

    async def _delete(self, cluster: Cluster) -> None:
        found = await cluster.client.get(self._gvk, _NAME, self._namespace)
        await cluster.client.delete(found)
        await cluster.client.wait_deleted(found, timeout=900.0)
