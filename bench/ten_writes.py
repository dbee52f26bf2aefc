"""The operator of `bench.simulation`: ten writes in a scenario of three steps."""

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing import Cluster


class ShelfSpec(Model):
    """What is wanted."""

    books: int = 1


class ShelfStatus(Status):
    """What is there."""

    books: int = 0


@custom_resource("bench.example.com/v1", plural="shelves")
class Shelf(Resource[ShelfSpec, ShelfStatus]):
    """Wants a number of ConfigMaps."""


def make_operator() -> Operator:
    """Create the operator."""
    operator = Operator("shelves")

    @operator.reconciler(Shelf, owns=[ConfigMap])
    async def reconcile(shelf: Shelf, ctx: Context[Shelf]) -> None:
        for number in range(shelf.spec.books):
            await ctx.apply(ConfigMap(meta(f"{shelf.name}-{number}"), data={"title": f"Volume {number}"}))
        await ctx.prune(ConfigMap)
        shelf.status.books = shelf.spec.books

    return operator


operator = make_operator()


async def rollout(cluster: Cluster) -> None:
    """Create a shelf, let it grow and shrink."""
    shelf = await cluster.client.create(Shelf(meta("a"), ShelfSpec(books=3)))
    for books in (6, 5):
        await cluster.settle()
        await cluster.client.patch(shelf, {"spec": {"books": books}})
    await cluster.settle()
