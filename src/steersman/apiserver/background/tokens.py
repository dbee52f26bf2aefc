"""`TokenCleaner`: deletes token Secrets together with their ServiceAccount."""

from steersman.apiserver.background.internal_client import Found, InternalClient, Place, place_of
from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.storage.history import Event

_SECRETS = "secrets"
_ACCOUNTS = "serviceaccounts"
_TYPE = "kubernetes.io/service-account-token"
_NAME = "kubernetes.io/service-account.name"
_UID = "kubernetes.io/service-account.uid"


class TokenCleaner:
    """Deletes the token Secrets of ServiceAccounts that do not exist."""

    def __init__(self, client: InternalClient, tasks: BackgroundTasks) -> None:
        self._client = client
        self._tasks = tasks

    def start(self) -> None:
        """Check every token Secret."""
        for record in self._client.objects.records_of(_SECRETS):
            if record.fields.get("type") == _TYPE:
                self._look_at(Place(_SECRETS, record.namespace, record.name))

    def observe(self, event: Event) -> None:
        """Note a write."""
        if event.resource == _SECRETS:
            if event.type != "DELETED" and event.record.fields.get("type") == _TYPE:
                self._look_at(place_of(event))
        elif event.resource == _ACCOUNTS and event.type == "DELETED":
            for record in self._client.objects.records_of(_SECRETS, event.record.namespace):
                if record.fields.get("type") == _TYPE:
                    self._look_at(Place(_SECRETS, record.namespace, record.name))

    def _look_at(self, place: Place) -> None:
        self._tasks.add(("token", place), lambda: self._clean(place))

    def _clean(self, place: Place) -> None:
        found = self._client.find(place)
        if found is not None and not found.record.is_deleting and not self._has_account(found):
            self._client.delete(found)

    def _has_account(self, found: Found) -> bool:
        annotations = found.metadata.get("annotations") or {}
        account = self._client.find(Place(_ACCOUNTS, found.record.namespace, annotations.get(_NAME, "")))
        return account is not None and annotations.get(_UID, account.record.uid) == account.record.uid
