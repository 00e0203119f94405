"""Which lists of a REST API a query begins with: those that the user names.

* `enumerator`: the enumerators of a REST API: the lists that the user named, read once or in rounds;
* `origins`: URLs as pages and users write them, their servers, and which of these asked to be left alone;
* `split`: a list of a REST API as a split, and a position in it, page by page or in the log of its rounds.
"""
