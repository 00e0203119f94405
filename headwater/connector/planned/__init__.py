"""Planned mode on the driver: where a batch ends is decided before it is read.

* `admission`: admission control: how far the next batch goes, by its limits and by the end of an AvailableNow
  run;
* `batch_duration`: how large batches are made so that they take as long as the user wants
  (``targetBatchDuration``);
* `batch_sizing`: ``targetBatchDuration``: measures how long batches take, and limits the next one
  accordingly;
* `coordinator`: the coordinator of planned mode: decides where a batch ends before it is read;
* `event_time_options`: the options of alignment by event time, for sources in planned mode that find the
  position of a time;
* `next_batch`: the next batch of a query in planned mode: how far it reads each split;
* `offsets`: the offset of planned mode: the part of an entry in Spark's offset log that is about a source;
* `options`: the options that every source in planned mode has, and the settings made of them;
* `planning`: from ranges to tasks;
* `report_listener`: reports of tasks to the driver: records that are lost, bytes that were read, event times
  of a column;
* `shares`: shares of a budget: among splits in proportion to their backlog, among groups of splits by weight;
* `split_ends`: splits that end at a record, as the driver of planned mode knows them (FLIP-208);
* `task_count`: how many tasks a micro-batch gets, learnt from how long those before it took;
* `task_notes`: task notes on the driver: read when a batch is committed, told to the enumerator, deleted a
  batch later;
* `task_reports`: what the tasks of a query have told its coordinator: losses, the time that splits took,
  metrics, ends.
"""
