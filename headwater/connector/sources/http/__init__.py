"""The HTTP source: its options, and how it is put together.

* `configure`: from the user's options to the HTTP source;
* `credential_options`: the options that say who asks;
* `incremental_options`: the options of lists that change: what tells changes, and how rounds overlap;
* `incremental_source`: the HTTP source of lists that change: rounds, staged in segment logs;
* `paging_options`: the options that say what pages are: where they are, what is in them, and where the next
  one is.
"""
