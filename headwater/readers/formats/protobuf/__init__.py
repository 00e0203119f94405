"""Protobuf: messages in the wire format, whose types a descriptor set gives.

From the ground up: `layout` (the plan that Python and machine code share), `kernel` (the compiled code),
`descriptors` (finds a message), `schema` (its columns), `plan` (its fields as numbers), `decoder`, `format`.

* `field_kinds`: the words of a plan for the kernel: how each field is written, its conversion, and blocks of
  such words;
* `message_indexes`: the header of a message in Confluent's wire format: an id, and the place of the message
  in its file.
"""
