"""Files to read: discovery, the state of a query, and the cleaning of committed files.

In reading order:

- ``split``: one version of one file, as a split, and files as they stand in an offset.
- ``selection``: which paths and names are read.
- ``filesystem``: file systems of fsspec, and their errors.
- ``listing``: lists one path, page by page.
- ``event_queue``, ``sqs_queue``, ``pubsub_queue``, ``azure_queue``, ``queues``: where notifications are, by
  service.
- ``arrivals``: files that notifications announce.
- ``discovery``: runs the listings on a thread of its own, beside the query.
- ``names``: the identity of a file that was read, its packed form, and a store for names that do not fit into
  the offset.
- ``backlog``: the files that wait for a batch.
- ``cleaner``: deletes or archives committed files.
- ``settings``: the settings of discovery.
- ``seen``: all files that a query has read, in bounded space, and with it which listed files are new.
- ``fixed_listing``: the files of a batch, listed once.
- ``folder_columns``: columns from names of folders.
- ``enumerator``: puts it together, on the coordinator's thread.
"""
