"""Would a server accept this CustomResourceDefinition? Start with ``validation``."""
