"""Shared by the coordinators of both modes: the enumerator's life, its threads, and the form of offsets.

* `coordinator`: the driver half of a query (Flink's ``SourceCoordinator``), and the check of its logged
  schema;
* `coordinator_loop`: the threads of a coordinator: one for every call of the enumerator, one for slow calls
  to the outside;
* `dealing`: which task reads which splits, by the time that each took before;
* `enumerator_driver`: the life of a query's enumerator: made or restored, asked once a round, notified of
  checkpoints, closed;
* `offset_codec`: the form of offsets in both modes: one JSON object for one entry of Spark's offset log;
* `round_context`: assignments, losses and events of an enumerator in the current round.
"""
