"""Commands that work on the project in the current folder.

`init` and `create` write files of a new project or kind, `generate` typed classes of existing CRDs, `manifests`,
`chart` and `bundle` the files of a deployment, `image` a container image. `output` writes or compares generated files.
"""
