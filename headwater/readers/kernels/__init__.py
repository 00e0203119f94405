"""Compiled kernels: compiled once per host, loaded without numba, and the memory that they fill.

`compiling` (numba, on a host's first use), `cache` (the machine code as a file), `machine_code` (loads it and
calls it), `arrays` (types of arrays), `arenas` (memory for reuse). For compiled code: `memory` (access by
address), `utf8`, `varints`.

The compiled code of a format is in a package ``kernel`` of its own. A `Kernel` names its function; the key of
its machine code is the text of the modules that it imports.
"""
