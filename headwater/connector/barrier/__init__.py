"""Barrier mode on the driver.

Opens an epoch when a split is due, and settles it when its tasks have ended.

* `checkpoints`: the checkpoint coordinator: opens epochs in the state location, and collects their manifests;
* `coordinator`: the coordinator of barrier mode: opens an epoch when a split is due, and takes up its
  results;
* `event_time`: the driver's half of alignment by event time: which splits wait for others, from epoch to
  epoch;
* `event_time_options`: the options of alignment by event time in barrier mode, and the settings made of them;
* `offsets`: the offset of a source in barrier mode: it names an epoch, and everything that its tasks need to
  know;
* `options`: the options that every source in barrier mode has, and the settings made of them;
* `releasing`: releases the data that a staged source keeps for old epochs, together with these;
* `settlement`: the state of a query after an epoch: made of its offset and its manifests, in one step.
"""
