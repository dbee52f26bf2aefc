"""Operators: declaring them, starting and stopping them, leadership, health, metrics."""
