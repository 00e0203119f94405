"""Which files exist, which of them were read, and what is done with them afterwards.

In reading order:

- ``split``: one version of one file, as a split.
- ``selection``: which paths and names are read.
- ``filesystem``: file systems of fsspec, and their errors.
- ``listing``: lists one path, page by page.
- ``object_events``, ``event_queue``, ``arrivals``: files that notifications tell of.
- ``discovery``: runs the listings on a thread of its own, beside the query.
- ``names``: what is remembered of a file that was read, its packed form, and a place for what does not fit
  into the offset.
- ``backlog``: the files that wait for a batch.
- ``archive``: moves a file and never overwrites one.
- ``cleaner``: deletes or archives committed files.
- ``settings``: what the options say about all of this.
- ``seen``: all that a query has read, in bounded space, and so which of the listed files are to be read.
- ``enumerator``: puts it together, on the coordinator's thread.
"""
