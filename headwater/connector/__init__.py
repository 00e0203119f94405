"""Floor 3: Spark.

Translates between Spark's data source API and the floors below.
Only it and the tools above it import pyspark.

* `async_io`: asynchronous I/O on DataFrames: FLIP-12's ``unorderedWait`` and ``orderedWait`` for Spark;
* `barrier`: barrier mode on the driver;
* `changes`: changes of a table, applied to another table: ``hw.apply_changes``;
* `compat`: the one place that knows versions of Spark: which are supported, and the parts of them that may
  change;
* `coordination`: shared by the coordinators of both modes: the enumerator's life, its threads, and the form
  of offsets;
* `cpus`: how many tasks run at once, as far as a source can know: the default of the option ``parallelism``;
* `formats`: what a user says about keys and values that become typed columns: options, schemas, formats by
  name;
* `options`: tables of options: they parse what the user gave, name the nearest option in errors, and show
  themselves;
* `planned`: planned mode on the driver: where a batch ends is decided before it is read;
* `program_arguments`: arguments of headwater's functions beside options: one check for each kind of thing;
* `readable`: errors as a person reads them in Spark's output: one line, the last one of Python's part;
* `sources`: which sources there are: a table of options, and the factory that makes a source of them, for
  each;
* `spark`: Spark's side: the classes of its Python data source API, translated into calls of the coordinators;
* `time_column`: the column that the user names as the one with the event time;
* `typed`: typed readers, ``hw.read.kafka(...)``: the options of the built-in sources as arguments of
  functions.
"""
