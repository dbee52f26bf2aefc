"""The program of the article: registers the kind, asks for its objects in every way, and keeps a copy of them.

    python -m project.client --kubeconfig ~/.kube/config

Without --kubeconfig it is the cluster of the pod this runs in, or of the usual files.
"""

import argparse
import asyncio

from steersman import Client, meta
from steersman.protocol import Deleted
from steersman.schema import crd_object

from project.api.project_v1alpha1 import Project, ProjectSpec


async def register(client: Client) -> None:
    """Make the kind known to the server, and wait until its objects can be asked for."""
    await client.wait_established(await client.apply(crd_object(Project)))


async def every_verb(client: Client) -> None:
    """Create, get, list, update, patch and delete: typed, without a line of generated code."""
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


async def follow(client: Client) -> None:
    """Watch: what is there, then every change, until the last one is gone."""
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


async def keep_a_copy(client: Client) -> None:
    """Keep an informer: it lists once, watches from there on, and answers without asking the server."""
    made = await client.create(Project(meta("some-project"), ProjectSpec(replicas=1)))
    async with client.informer(Project) as projects:
        project = projects.get(f"{client.namespace}/some-project")
        print("store has", project.key if project else None)
        copied = projects.get(f"{client.namespace}/some-project")
        print("every read is a copy of its own:", copied is not project and copied == project)
    await client.delete(made)


async def main(kubeconfig: str | None) -> None:
    """Show all of it."""
    async with Client.connect(kubeconfig=kubeconfig) as client:
        await register(client)
        await every_verb(client)
        await follow(client)
        await keep_a_copy(client)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Asks for Projects in every way.")
    parser.add_argument("--kubeconfig", help="path to a kubeconfig; without it, the cluster this runs in")
    asyncio.run(main(parser.parse_args().kubeconfig))
