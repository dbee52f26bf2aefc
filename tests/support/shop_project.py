"""A folder with a small operator, for tests that run it as a user does."""

from pathlib import Path

CODE = '''
from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap


class ShopSpec(Model):
    shelves: int = 1


class ShopStatus(Status):
    shelves: int = 0


@custom_resource("web.example.com/v1")
class Shop(Resource[ShopSpec, ShopStatus]):
    """A shop with shelves."""


operator = Operator("shop")


@operator.reconciler(Shop, owns=[ConfigMap])
async def reconcile(shop: Shop, ctx: Context[Shop]) -> None:
    for number in range(shop.spec.shelves):
        await ctx.apply(ConfigMap(meta(f"{shop.name}-{number}"), data={"of": str(shop.spec.shelves)}))
    await ctx.prune(ConfigMap)
    shop.status.shelves = shop.spec.shelves
    ctx.condition("Ready", True, "Stocked", f"{shop.spec.shelves} shelves are stocked")
    ctx.requeue_after(3600)
'''
TARGET = "shop:operator"


def write_shop(folder: Path) -> Path:
    """Write the operator into a folder; run it there as `TARGET`."""
    folder.mkdir(exist_ok=True)
    (folder / "shop.py").write_text(CODE)
    return folder
