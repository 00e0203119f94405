"""How files are read: one module for each format, and what they share.

In reading order:

- ``settings``: what a task needs to know.
- ``opening``: a planned file as a stream of bytes, and its compression.
- ``file_format``: what a format is, the blocks that it reads, and all formats by name.
- ``line_format``: formats of lines: which lines belong to a byte range.
- ``values``, ``corrupt``: text to values, and lines that cannot be read.
- ``text_format``, ``csv_format``, ``json_format``: formats of lines.
- ``pruning``: filters that Spark pushes down.
- ``columnar_formats``, ``orc_format``, ``avro_format``: formats that say what they hold.
- ``rows``: columns of the file, of its path, and about it, put together.
- ``split_reader``: the two halves of the reader: ranges to blocks, and blocks to rows.
- ``inference``: a schema for files whose user gave none.
"""
