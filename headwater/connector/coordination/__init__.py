"""Shared by the coordinators of both modes: the enumerator's life, its threads, and the form of offsets."""
