"""Changes of a table, applied to another table: ``hw.apply_changes``, ``hw.changes_of``.

* `apply`: the function: its checks before anything is written, and the order of steps;
* `rows`: kinds of change rows, brought into one form;
* `reduction`: the last state of each key of a batch;
* `target`: the table that takes the changes: its columns, and the MERGE;
* `one_table`: of a stream of several tables the changes of one.
"""
