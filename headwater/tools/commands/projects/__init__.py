"""The projects that ``headwater new-source`` writes, one for each mode.

* `barrier`: a tail, whose end is not known before it is read;
* `planned`: a log, whose end is known before it is read;
* `shared`: the files that are the same in each mode, and `Project`, the form of the others;
* `staged`: a queue that forgets what was acknowledged.
"""
