"""The program of the article: registers the kind, uses every verb, and runs an informer.

    python -m project.client --kubeconfig ~/.kube/config

Without --kubeconfig it uses the cluster of its pod, or the usual kubeconfig files.
"""

import argparse
import asyncio

from steersman import Client, meta
from steersman.protocol import Deleted
from steersman.schema import crd_object

from project.api.project_v1alpha1 import Project, ProjectSpec


async def register(client: Client) -> None:
    """Apply the CRD, and wait until the kind is served."""
    await client.wait_established(await client.apply(crd_object(Project)))


async def use_every_verb(client: Client) -> None:
    """Create, get, list, update, patch and delete: typed, without generated code."""
    created = await client.create(Project(meta("typed"), ProjectSpec(replicas=2)))
    print("created", created.key, "replicas", created.spec.replicas)

    found = await client.get(Project, "typed")
    found.spec.replicas = 3
    found.labels["team"] = "storage"
    updated = await client.update(found)
    print("updated", updated.key, "replicas", updated.spec.replicas, "generation", updated.generation)

    patched = await client.patch(updated, {"spec": {"replicas": 4}})
    print("patched", patched.key, "replicas", patched.spec.replicas, "generation", patched.generation)

    print("projects found:", [project.name async for project in client.list(Project, label_selector="team=storage")])
    await client.delete(patched)
    print("deleted", patched.key, "found then:", await client.try_get(Project, "typed"))


async def watch(client: Client) -> None:
    """Watch existing objects, then every change, until the last object is deleted."""
    made = await client.create(Project(meta("watched"), ProjectSpec(replicas=1)))
    async with client.watch(Project, field_selector="metadata.name=watched") as events:
        async for event in events:
            print("watched", type(event).__name__, event.object.name, event.object.spec.replicas)
            if isinstance(event, Deleted):
                return
            if event.object.spec.replicas == 1:
                made = await client.patch(made, {"spec": {"replicas": 2}})
            else:
                await client.delete(made)


async def run_informer(client: Client) -> None:
    """Run an informer: it lists once, watches from there on, and serves reads from its store."""
    made = await client.create(Project(meta("some-project"), ProjectSpec(replicas=1)))
    async with client.informer(Project) as projects:
        project = projects.get(f"{client.namespace}/some-project")
        print("store has", project.key if project else None)
        copied = projects.get(f"{client.namespace}/some-project")
        print("every read returns a new object:", copied is not project and copied == project)
    await client.delete(made)


async def main(kubeconfig: str | None) -> None:
    """Run all parts."""
    async with Client.connect(kubeconfig=kubeconfig) as client:
        await register(client)
        await use_every_verb(client)
        await watch(client)
        await run_informer(client)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Reads and writes Projects in every way.")
    parser.add_argument("--kubeconfig", help="path of a kubeconfig; default: the cluster of this pod")
    asyncio.run(main(parser.parse_args().kubeconfig))
