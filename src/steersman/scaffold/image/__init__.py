"""An operator as an OCI image, built and pushed without a daemon: a base image, its dependencies, its code.

Start with `build`. `base` reads a base image, `contents` collects packages by their requirements (`markers`), `layer`
and `layout` write the image, `registry` pushes and pulls it, `unpack` reads the operator out of it. `elf` finds missing
shared libraries before the image runs.
"""
