"""Avro: values of a schema, resolved from the writer's to the reader's, into columns as Spark's from_avro.

From the ground up: `schema` (the text as a tree), `columns` (the tree as Arrow types), `layout` (numbers
that Python and machine code share), `defaults` and `program` (both schemas as a table of operations),
`kernel` (the compiled code), `decoder`, `avro_format` and `confluent`.

* `container`: Avro's container files: a header with the schema, and blocks of values, each with a marker
  after it.
"""
