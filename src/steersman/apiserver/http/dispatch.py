"""`Verbs`: calls the verb of a request, and responds with its result."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.options import list_options
from steersman.apiserver.messages.rendering import Rendering
from steersman.apiserver.status import method_not_allowed
from steersman.apiserver.verbs.bind import Binding
from steersman.apiserver.verbs.create_update import CreateAndUpdate
from steersman.apiserver.verbs.delete import Deleting
from steersman.apiserver.verbs.patch import Patching
from steersman.apiserver.verbs.read import ReadingVerbs
from steersman.apiserver.verbs.reviews import Reviews
from steersman.apiserver.verbs.subresources import Subresources
from steersman.apiserver.verbs.watch import Watching
from steersman.protocol.http import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbs:
    """All verbs of one server."""

    reading: ReadingVerbs
    writing: CreateAndUpdate
    patching: Patching
    deleting: Deleting
    watching: Watching
    rendering: Rendering
    reviews: Reviews
    binding: Binding
    subresources: Subresources

    def run(self, verb: str, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        """Run the verb of a request, and respond."""
        part = request.info.subresource
        if part and part != "status":
            return self.subresources.run(part, verb, request, exchange)
        if verb == "create" and self.reviews.handles(request.served.kind):
            exchange.respond(self.rendering.answer(request, self.reviews.create(request)))
            return None
        if verb == "create" and request.served.kind == "Binding" and request.served.builtin:
            exchange.respond(self.rendering.answer(request, self.binding.bind_by_body(request)))
            return None
        action = _ACTIONS.get(verb)
        if action is None:
            raise method_not_allowed()
        return action(self, request, exchange)

    def _get(self, request: ApiRequest, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(request, self.reading.get(request)))

    def _list(self, request: ApiRequest, exchange: Exchange) -> None:
        page, _ = self.reading.list(request)
        body = None if request.form.transform else self.reading.list_body(request.served, page)
        exchange.respond(self.rendering.page(request, page, body))

    def _watch(self, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        return self.watching.watch(request, list_options(request.query, watch=True), exchange)

    def _create(self, request: ApiRequest, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(request, self.writing.create(request)))

    def _update(self, request: ApiRequest, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(request, self.writing.update(request)))

    def _patch(self, request: ApiRequest, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(request, self.patching.patch(request)))

    def _delete(self, request: ApiRequest, exchange: Exchange) -> None:
        exchange.respond(self.rendering.answer(request, self.deleting.delete(request)))

    def _delete_collection(self, request: ApiRequest, exchange: Exchange) -> None:
        page, warnings = self.deleting.delete_collection(request)
        body = None if request.form.transform else self.reading.list_body(request.served, page)
        exchange.respond(self.rendering.page(request, page, body, warnings))


_ACTIONS: dict[str, Callable[[Verbs, ApiRequest, Exchange], Awaitable[None] | None]] = {
    "get": Verbs._get,  # noqa: SLF001 - the class's own table
    "list": Verbs._list,  # noqa: SLF001 - the class's own table
    "watch": Verbs._watch,  # noqa: SLF001 - the class's own table
    "create": Verbs._create,  # noqa: SLF001 - the class's own table
    "update": Verbs._update,  # noqa: SLF001 - the class's own table
    "patch": Verbs._patch,  # noqa: SLF001 - the class's own table
    "delete": Verbs._delete,  # noqa: SLF001 - the class's own table
    "deletecollection": Verbs._delete_collection,  # noqa: SLF001 - the class's own table
}
