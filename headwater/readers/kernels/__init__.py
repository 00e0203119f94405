"""Compiled kernels: compiled once per host, loaded without numba, and the memory that they fill.

`compiling` (numba, on a host's first use), `cache` (the machine code as a file), `machine_code` (loads it and
calls it), `arrays` (types of arrays), `arenas` (memory that is used again).
"""
