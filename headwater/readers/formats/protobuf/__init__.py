"""Protobuf: messages in the wire format, whose types a descriptor set gives.

From the ground up: `layout` (the plan that Python and machine code share), `kernel` (the compiled code),
`descriptors` (finds a message), `schema` (its columns), `plan` (its fields as numbers), `decoder`, `format`.
"""
