"""Delivery of every write to the watchers of its resource."""
