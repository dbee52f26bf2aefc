"""The common parts of the patterns: a database, its parts as ConfigMaps and Secrets, and the actions of users."""

from collections.abc import Callable
from dataclasses import dataclass

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.client.interfaces import Ref
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing import Cluster, Scenario


class DatabaseSpec(Model):
    """The desired state."""

    replicas: int = 1
    feature: bool = True
    value: str = "one"


class DatabaseStatus(Status):
    """The observed state."""

    replicas: int = 0


@custom_resource("patterns.example.com/v1")
class Database(Resource[DatabaseSpec, DatabaseStatus]):
    """Stands for the clusters that the operators of the bug list manage."""


@dataclass(frozen=True)
class Pattern:
    """A bug of the list: the operator that has it, its correct twin, and the user actions that reveal it."""

    #: Project and issue.
    bug: str
    #: Makes the operator; ``True`` makes the twin.
    make: Callable[[bool], Operator]
    scenario: Scenario
    #: The kind of fault that reveals it.
    fault: str

    def __str__(self) -> str:
        return self.bug


def part(name: str, **data: str) -> ConfigMap:
    """Return a part of a database."""
    return ConfigMap(meta(name), data=data)


async def delete_by_name(ctx: Context[Database], name: str) -> None:
    """Delete a part, whichever object has that name now."""
    await ctx.client.delete(Ref(ConfigMap, name, "default"), missing_ok=True)


async def is_current(ctx: Context[Database], database: Database) -> bool:
    """Return whether the database on the API server is the one in the cache."""
    live = await ctx.client.try_get(Database, database.name, "default")
    if live is None or live.uid != database.uid:
        return False
    same_intent = live.metadata.generation == database.metadata.generation
    return same_intent and bool(live.metadata.deletion_timestamp) == bool(database.metadata.deletion_timestamp)


def stepwise(*specs: DatabaseSpec) -> Scenario:
    """Return a scenario that creates a database and changes it, with a rest after each step."""

    async def scenario(cluster: Cluster) -> None:
        database = await cluster.client.create(Database(meta("a"), specs[0]))
        await cluster.settle()
        for spec in specs[1:]:
            change = {"replicas": spec.replicas, "feature": spec.feature, "value": spec.value}
            await cluster.client.patch(database, {"spec": change})
            await cluster.settle()

    return scenario


async def recreated(cluster: Cluster) -> None:
    """Create a database, delete it, and create another one under the same name."""
    database = await cluster.client.create(Database(meta("a")))
    await cluster.settle()
    await cluster.client.delete(database)
    await cluster.eventually(lambda: not cluster.list(Database))
    await cluster.settle()
    await cluster.client.create(Database(meta("a")))
    await cluster.settle()
