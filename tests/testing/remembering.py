"""An operator that keeps in memory what it should read from the cluster: a crash loses it."""

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap


class NoteSpec(Model):
    """The desired state."""

    text: str = ""


class NoteStatus(Status):
    """The observed state."""

    copies: int = 0


@custom_resource("remembering.example.com/v1")
class Note(Resource[NoteSpec, NoteStatus]):
    """A kind that wants one copy."""


operator = Operator("remembering")
#: Notes for which a copy was created. It is lost with the process.
copied: set[str] = set()


@operator.reconciler(Note, owns=[ConfigMap])
async def reconcile(note: Note, ctx: Context[Note]) -> None:
    """Create a copy, unless memory says that there is one."""
    if note.uid not in copied:
        copied.add(note.uid)
        await ctx.create(ConfigMap(meta(generate_name=f"{note.name}-")))
    note.status.copies = 1
