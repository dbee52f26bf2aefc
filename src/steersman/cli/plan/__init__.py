"""`steer plan`: what the operator would do to a cluster. ``other_version`` plans the operator of another folder."""
