"""Lists that change, read round by round: each round asks for the changes since the one before.

* `incremental_reader`: reads lists that change, round by round, through a segment log: so every change can be
  read again;
* `known_items`: which versions of items were read: it tells an item that comes again from one that changed;
* `rounds`: where a list stands that is read in rounds, where its next round begins, and the log of both;
* `values`: values of the field by which an API marks changes: how they compare, and their form in requests.
"""
