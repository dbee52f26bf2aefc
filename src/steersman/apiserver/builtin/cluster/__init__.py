"""Namespaces, Nodes, PriorityClasses, RuntimeClasses, APIServices and flow control. ``family.py`` lists the kinds.

The strategy of CustomResourceDefinitions is in ``apiserver/custom``.
"""
