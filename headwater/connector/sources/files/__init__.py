"""The files source: its options, and the source that joins enumerator and reader.

* `cleaning_options`: the options on what becomes of files that were read;
* `discovery_options`: the options on finding files, and what they come to: which, in what batches, and what
  becomes of them;
* `filters`: Spark's filters in the form that Parquet's row groups are skipped by;
* `notification_options`: the options on finding files by notifications;
* `read_options`: the options on reading files, and how bytes become rows by them;
* `schema_options`: whether the schema of a query goes with its options, and what becomes of columns that it
  has not;
* `task_settings`: what a task asks Spark for before it reads: settings of the session, which only tasks are
  told.
"""
