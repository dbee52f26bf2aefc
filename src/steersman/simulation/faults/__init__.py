"""What can go wrong, and where: the catalogue of faults, the steps of a recorded run, the plans over them. Pure.

Start with ``kinds``; ``plans`` enumerates them over a ``recording``.
"""
