"""How files are read: one module for each format, and the parts that they share.

In reading order:

- ``settings``, ``text_settings``: the options, as a task needs them.
- ``file_format``: the contract of a format, the blocks that it reads, all formats by name, and a planned
  file as a stream of bytes.
- ``compressed_files``: files that are compressed as a whole, by the suffix of their names.
- ``lines``, ``line_format``: formats of lines: which lines belong to a byte range.
- ``fixed_formats``: text and binaryFile.
- ``csv_lines``, ``csv_stream``, ``csv_format``, ``csv_rescue``, ``csv_inference``: CSV.
- ``json_documents``, ``json_format``, ``json_inference``: JSON.
- ``bad_records``: records that cannot be read, and the files that they go to.
- ``column_types``, ``rebase``: columns of a file as those of the schema, and dates of old calendars.
- ``spark_notes``: types that Spark has noted in the files that it wrote.
- ``columnar_formats``: Arrow, and the base of formats that tell their columns.
- ``parquet_types``, ``parquet_format``, ``parquet_statistics``, ``parquet_ends``: Parquet.
- ``orc_tail``, ``orc_conversions``, ``orc_format``, ``decoder_process``, ``decoder_child``: ORC.
- ``avro_types``, ``avro_format``: Avro.
- ``partitions``, ``rows``: columns of the file, of its path, and about it, put together.
- ``split_reader``: the two halves of the reader: ranges to blocks, and blocks to rows.
- ``inference``: a schema for files whose user gave none.
- ``drift``, ``schema_history``: columns that the schema does not have.
"""
