"""`Admission`: everyone who has a say in a write, in their order."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from steersman.apiserver.access.authorization import is_privileged
from steersman.apiserver.access.rbac.authorizer import Rbac
from steersman.apiserver.admission.attributes import CREATE, DELETE, UPDATE, Attributes, write_document
from steersman.apiserver.admission.configurations import BINDINGS, MUTATING, POLICIES, VALIDATING
from steersman.apiserver.admission.guards import Guards
from steersman.apiserver.admission.matching import Matching, is_exempt
from steersman.apiserver.messages.api_request import Call
from steersman.apiserver.messages.options import WriteOptions
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.randomness import Randomness

if TYPE_CHECKING:
    from steersman.apiserver.admission.policies import Policies
    from steersman.apiserver.admission.webhooks import Webhooks

Document = dict[str, Any]
_CONFIGURATIONS = frozenset({MUTATING, VALIDATING, POLICIES, BINDINGS})


class Admission:
    """Lets writes pass, changed or not, or refuses them."""

    def __init__(
        self, ledger: Ledger, catalog: Catalog, rbac: Rbac, randomness: Randomness, options: WebhookOptions | None
    ) -> None:
        self._ledger = ledger
        self._matching = Matching(ledger, catalog)
        self._rbac = rbac
        self._randomness = randomness
        self._options = options
        self._guards = Guards(rbac)
        #: Whether anybody outside has a say in anything: most servers never have such configurations.
        self.is_active = False
        ledger.listen(_CONFIGURATIONS, lambda _: self.look_again())

    def look_again(self) -> None:
        """Find out who has a say: a configuration was written, or the store was changed as a whole."""
        for name in ("_webhooks", "_policies"):
            self.__dict__.pop(name, None)
        self.is_active = any(self._ledger.store.count(resource) for resource in _CONFIGURATIONS)

    # Made when somebody has a say for the first time, and again when that changes: most servers never need them, and
    # the language of conditions and policies takes its time to load.

    @cached_property
    def _webhooks(self) -> "Webhooks":
        from steersman.apiserver.admission.webhooks import Webhooks  # noqa: PLC0415 - see above

        return Webhooks(self._ledger, self._matching, self._rbac, self._randomness, self._options)

    @cached_property
    def _policies(self) -> "Policies":
        from steersman.apiserver.admission.policies import Policies  # noqa: PLC0415 - see above

        return Policies(self._ledger, self._matching, self._rbac)

    def concerns(self, call: Call) -> bool:
        """Tell whether anybody may want to change or refuse what a call writes: a quick look before the real one."""
        return self.is_active or not is_privileged(call.user)

    def attributes(self, call: Call, obj: Document, old: Document | None, options: WriteOptions) -> Attributes:
        """Describe a create or an update."""
        kind = "CreateOptions" if old is None else "UpdateOptions"
        told = write_document(kind, options, given_validation=call.query.text("fieldValidation"))
        operation = CREATE if old is None else UPDATE
        name = "" if old is not None else (obj.get("metadata") or {}).get("name", "")
        return Attributes(call, operation, obj, old, told, options.dry_run, name=name)

    def mutate(self, call: Call, obj: Document, old: Document | None, options: WriteOptions) -> Document:
        """Give the object as everyone wants it who may change it; refuse what its author may not bring about."""
        if self.is_active and not is_exempt(call.served):
            attributes = self.attributes(call, obj, old, options)
            if call.answers is not None:
                self._webhooks.mutate(attributes)
            obj = attributes.obj or obj
        self._guards.check(call, obj, old)
        return obj

    def validate(self, call: Call, obj: Document, old: Document | None, options: WriteOptions) -> None:
        """Refuse an object that somebody does not want."""
        if self.is_active and not is_exempt(call.served):
            attributes = self.attributes(call, obj, old, options)
            self._judge(attributes)

    def _judge(self, attributes: Attributes) -> None:
        self._policies.validate(attributes)
        if attributes.call.answers is not None:
            self._webhooks.validate(attributes)

    def delete(self, call: Call, old: Document, options: Document, *, dry_run: bool) -> None:
        """Refuse a delete that somebody does not want."""
        if self.is_active and not is_exempt(call.served):
            attributes = Attributes(call, DELETE, None, old, options, dry_run)
            if call.answers is not None:
                self._webhooks.mutate(attributes)
            self._judge(attributes)
