"""Asks for the tokens of a pod's service account that its volumes want."""

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.errors import ApiError
from steersman.kinds.core_v1 import Container, Pod, ServiceAccount
from steersman.localcluster.process_node.containers.problem import MountError
from steersman.localcluster.process_node.files.projected_files import tokens_wanted


async def pod_tokens(pod: Pod, container: Container, client: Client) -> dict[tuple[str, str], str]:
    """Return the tokens that a container mounts, by volume and path."""
    mounted = {mount.name for mount in container.volume_mounts or ()}
    tokens: dict[tuple[str, str], str] = {}
    account = Ref(ServiceAccount, pod.spec.service_account_name or "default", pod.namespace)
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    for volume in pod.spec.volumes or ():
        for wanted in tokens_wanted(volume) if volume.name in mounted else ():
            spec = {
                "audiences": [wanted.audience] if wanted.audience else [],
                "expirationSeconds": wanted.seconds,
                "boundObjectRef": bound,
            }
            try:
                answer = await client.create_subresource(account, "token", {"spec": spec})
            except ApiError as error:
                raise MountError(f'volume "{volume.name}" gets no token of {account}: {error}') from None
            tokens[volume.name, wanted.path] = str(answer["status"]["token"])
    return tokens
