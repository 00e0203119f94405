"""The commands of the ``headwater`` program.

* `board`: ``headwater board CHECKPOINT...``: the board of queries that run elsewhere, from their checkpoints;
* `checkpoint_command`: the common part of the commands of ``headwater checkpoint`` about one checkpoint;
* `checkpoint_edits`: ``headwater checkpoint rewind | skip PATH``: the next start goes on at other positions;
* `checkpoint_folder`: where a checkpoint lies: a local folder, or an object store through its fsspec library;
* `checkpoint_names`: ``headwater checkpoint name PATH``: the sources of a query get names;
* `checkpoint_views`: ``headwater checkpoint show | positions | diff PATH``: the content of a checkpoint of
  Spark, in words;
* `compile_kernels`: ``headwater compile``: compiles the kernels, before the first query on a host has to;
* `convert`: ``headwater checkpoint convert PATH --to headwater|spark-kafka``: a Kafka query changes its
  source;
* `cpu_time`: CPU time of a process and of everything that it has started;
* `doctor`: ``headwater doctor``: the obstacles to a first query, each with the command that mends it;
* `kafka_differences`: every difference from Spark's own Kafka source that is meant, and whom it concerns;
* `logged_positions`: the positions of an entry of an offset log, for every source;
* `main`: the command line ``headwater``;
* `new_source`: ``headwater new-source NAME``: a project with a working source, its test, and its entry point;
* `offset_forms`: the two forms in which positions in Kafka stand in an offset log, and the way from each to
  the other;
* `offset_log`: the text of one entry of Spark's offset log, in each layout of `OFFSET_LOG_LAYOUTS`;
* `peek`: ``headwater peek SOURCE -o key=value``: the splits and first rows of a source, without Spark;
* `projects`: the projects that ``headwater new-source`` writes, one for each mode;
* `replica_program`: the program that ``headwater replicate`` writes;
* `replica_target`: the table into which it copies another one: its name, and what Spark needs;
* `replicate`: ``headwater replicate URL --table T --into TARGET``: a table of PostgreSQL, kept up to date in
  a lake;
* `slots`: ``headwater slots URL``: the replication slots of a PostgreSQL server, and the WAL that they keep;
* `spark_checkpoint`: a checkpoint of Spark: which batches it holds, and how entries of its offset log are
  replaced;
* `text_table`: rows as a table of text, for a terminal;
* `trial`: ``headwater try CHECKPOINT``: proof on a user's own query.
"""
