"""HorizontalPodAutoscalers (autoscaling/v1 and v2) and PodDisruptionBudgets. ``family.py`` lists the kinds."""
