"""How files are read: one module for each format, and what they share.

In reading order:

- ``settings``: what a task needs to know.
- ``opening``, ``compression``: a planned file as a stream of bytes.
- ``block``: what the split reader hands to the emitter.
- ``file_format``, ``formats``: what a format is, and all of them by name.
- ``line_blocks``, ``line_format``: which lines belong to a byte range.
- ``values``, ``corrupt``: text to values, and lines that cannot be read.
- ``text_format``, ``csv_format``, ``json_format``: formats of lines.
- ``pruning``: filters that Spark pushes down.
- ``columnar_formats``, ``avro_format``: formats that say what they hold.
- ``rows``: columns of the file, of its path, and about it, put together.
- ``split_reader``, ``emitter``: the two halves of the reader.
- ``inference``: a schema for files whose user gave none.
"""
