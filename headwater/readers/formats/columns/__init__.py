"""Columns of Arrow that kernels fill: their memory, and the nodes of nested types."""
