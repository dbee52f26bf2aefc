"""Watcher, as kubewatch.example.com/v1: the CRD and the RBAC permissions are derived from these classes."""

from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.objects import GroupVersionResource, sparse
from steersman.schema import Column, Maximum, Minimum, MinItems, MinLength, Rule, constrained

Event = Literal["create", "update", "delete"]
UpdateOn = Literal["any", "spec", "status"]
HandlerType = Literal["webhook", "slack", "slackwebhook", "cloudevent", "smtp", "log"]


class WatchedResource(Model):
    """A resource to watch, of any kind that the server serves."""

    #: Empty for the core group.
    group: str = ""
    version: Annotated[str, MinLength(1)]
    #: The plural, as in URLs.
    resource: Annotated[str, MinLength(1)]
    #: Empty for all namespaces.
    namespace: str = ""
    label_selector: str = ""
    #: Empty for all events.
    events: list[Event] = sparse(list)
    #: Part of an object that must change for an update.
    update_on: UpdateOn = "any"

    @property
    def gvr(self) -> GroupVersionResource:
        """Group, version and resource of the URL."""
        return GroupVersionResource(self.group, self.version, self.resource)


class SecretRef(Model):
    """A value in a Secret of the watcher's namespace: a URL, a token or a password, depending on the handler."""

    name: Annotated[str, MinLength(1)]
    key: Annotated[str, MinLength(1)] = "value"


@constrained(
    Rule("self.type in ['log', 'slack'] || has(self.url) || has(self.secretRef)", "url or secretRef is needed"),
    Rule("self.type != 'slack' || has(self.secretRef) && has(self.channel)", "slack needs secretRef and channel"),
    Rule(
        "self.type != 'smtp' || has(self.url) && has(self.sender) && has(self.recipients)",
        "smtp needs url, sender and recipients",
    ),
)
class Handler(Model):
    """A receiver of notifications."""

    type: HandlerType
    #: ``https://…``; for smtp ``smtp://[USER@]HOST[:PORT]``.
    url: str | None = None
    secret_ref: SecretRef | None = None
    #: For slack.
    channel: str | None = None
    #: For smtp.
    sender: str | None = None
    recipients: Annotated[list[str], MinItems(1)] | None = None

    def __str__(self) -> str:
        """Return a name without the URL, which may be a secret."""
        return f"{self.type} {self.secret_ref.name}" if self.secret_ref else self.type


class WatcherSpec(Model):
    """What to watch, and the handlers to notify."""

    resources: Annotated[list[WatchedResource], MinItems(1)]
    handlers: Annotated[list[Handler], MinItems(1)]
    #: Whether the values of Secrets are left out.
    redact_secrets: bool = True
    #: Number of retries before a notification is given up.
    max_retries: Annotated[int, Minimum(0), Maximum(20)] = 5


class WatcherStatus(Status):
    """The conditions Ready and DeliveryDegraded, and the number of notifications that were given up."""

    dead_letters: int = 0


@custom_resource(
    "kubewatch.example.com/v1",
    columns=[
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status', type="string"),
        Column("Reason", '.status.conditions[?(@.type=="Ready")].reason', type="string"),
        Column("Dead", ".status.deadLetters"),
        Column("Age", ".metadata.creationTimestamp"),
    ],
)
class Watcher(Resource[WatcherSpec, WatcherStatus]):
    """Notifies handlers about changes of objects."""
