"""`Verbs`: hands each request to whoever does its verb, and the result to whoever writes answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from steersman.apiserver.messages.api_request import Call
from steersman.apiserver.messages.options import list_options
from steersman.apiserver.messages.rendering import Rendering
from steersman.apiserver.status import method_not_allowed
from steersman.apiserver.verbs.delete import Deleting
from steersman.apiserver.verbs.patch import Patching
from steersman.apiserver.verbs.read import ReadingVerbs
from steersman.apiserver.verbs.reviews import Reviews
from steersman.apiserver.verbs.subresources import Subresources
from steersman.apiserver.verbs.watch import Watching
from steersman.apiserver.verbs.write import Writing
from steersman.protocol.http import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbs:
    """Everything that can be done with a resource."""

    reading: ReadingVerbs
    writing: Writing
    patching: Patching
    deleting: Deleting
    watching: Watching
    rendering: Rendering
    reviews: Reviews
    subresources: Subresources

    def run(self, verb: str, call: Call, exchange: Exchange) -> Awaitable[None] | None:
        """Do what a request asks for and answer it."""
        part = call.info.subresource
        if part and part != "status":
            return self.subresources.run(part, verb, call, exchange)
        if verb == "create" and self.reviews.handles(call.served.kind):
            exchange.respond(self.rendering.answer(call, self.reviews.create(call)))
            return None
        action = _ACTIONS.get(verb)
        if action is None:
            raise method_not_allowed()
        return action(self, call, exchange)

    def _get(self, call: Call, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(call, self.reading.get(call)))

    def _list(self, call: Call, exchange: Exchange) -> None:
        page, _ = self.reading.list(call)
        body = None if call.form.transform else self.reading.list_body(call.served, page)
        exchange.respond(self.rendering.page(call, page, body))

    def _watch(self, call: Call, exchange: Exchange) -> Awaitable[None] | None:
        return self.watching.watch(call, list_options(call.query, watch=True), exchange)

    def _create(self, call: Call, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(call, self.writing.create(call)))

    def _update(self, call: Call, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(call, self.writing.update(call)))

    def _patch(self, call: Call, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(call, self.patching.patch(call)))

    def _delete(self, call: Call, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(call, self.deleting.delete(call)))

    def _delete_collection(self, call: Call, exchange: Exchange) -> None:
        page = self.deleting.delete_collection(call)
        body = None if call.form.transform else self.reading.list_body(call.served, page)
        exchange.respond(self.rendering.page(call, page, body))


_ACTIONS: dict[str, Callable[[Verbs, Call, Exchange], Awaitable[None] | None]] = {
    "get": Verbs._get,  # noqa: SLF001 - the class's own table
    "list": Verbs._list,  # noqa: SLF001 - the class's own table
    "watch": Verbs._watch,  # noqa: SLF001 - the class's own table
    "create": Verbs._create,  # noqa: SLF001 - the class's own table
    "update": Verbs._update,  # noqa: SLF001 - the class's own table
    "patch": Verbs._patch,  # noqa: SLF001 - the class's own table
    "delete": Verbs._delete,  # noqa: SLF001 - the class's own table
    "deletecollection": Verbs._delete_collection,  # noqa: SLF001 - the class's own table
}
