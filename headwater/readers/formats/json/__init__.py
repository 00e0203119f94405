"""JSON values as columns, with the meaning of Spark's `from_json`.

From the ground up: `layout` (numbers that the kernel and Python share), `kernel` (the compiled code),
`json_decoder`, `json_format`. Files have `documents` before that, and `shape_inference` for their schema.

* `shapes_layout`: inferred shapes of JSON: numbers that their kernel and Python share.
"""
