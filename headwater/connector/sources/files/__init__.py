"""The files source: its options, and the source that joins enumerator and reader.

* `cleaning_options`: the options on the treatment of files that were read;
* `discovery_options`: the options on finding files, and the settings that they make: which files, in which
  batches, and their treatment;
* `filters`: Spark's filters in the form that Parquet's row groups are skipped by;
* `notification_options`: the options on finding files by notifications;
* `read_options`: the options on reading files, and how bytes become rows by them;
* `schema_options`: whether the schema of a query goes with its options, and the treatment of columns that it
  has not;
* `task_settings`: the settings of the session, which only tasks are told: a task asks Spark for them before
  it reads.
"""
