"""How splits of a source in the small form are read: its split reader.

* `pages`: steps through one split of a simple source, and checks the values that its generator yields;
* `settings`: how the pages of a simple source are read;
* `split_reader`: reads the splits of a simple source, a page a fetch.
"""
