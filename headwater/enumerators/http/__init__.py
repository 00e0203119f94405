"""Which lists of a REST API a query begins with: those that the user names.

* `enumerator`: the enumerators of a REST API: the lists that the user named, read once or in rounds;
* `log_position`: a position in a list that is read in rounds: in the segment log of its rows;
* `origins`: origins: the servers behind URLs, and which of them asked to be left alone;
* `split`: a list of a REST API as a split, and a position in it.
"""
