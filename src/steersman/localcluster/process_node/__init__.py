"""A node that runs pods as processes of this machine, for development and tests: no containers, no images, no root."""
