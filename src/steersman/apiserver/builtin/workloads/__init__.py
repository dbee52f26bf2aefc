"""Kinds that create pods: Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, Jobs, CronJobs.

``family.py`` lists the kinds. `template_validation` has the rules that they share: a selector that matches the labels
of the pod template and never changes. The template itself is validated by ``pods``, claim templates by ``storage``.
"""
