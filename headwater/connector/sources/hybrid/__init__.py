"""The hybrid source: a chain of sources in planned mode (FLIP-150).

* `configure`: from the options of a chain to its source;
* `options`: the options of the hybrid source; those of its parts begin with the name of the part;
* `schemas`: the columns of a chain: those that all of its parts have.
"""
