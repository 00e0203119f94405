"""JSON values as columns, with the meaning of Spark's `from_json`.

From the ground up: `layout` (what the kernel and Python share), `scanner` (tokens), `numbers`, `text`,
`base64`, `times`, `scalars`, `kernel`, `kernel_entry` (compiles it); `zones` (offsets of time zones),
`json_decoder`, `json_format`.
"""
