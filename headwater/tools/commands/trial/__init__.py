"""``headwater try CHECKPOINT``: rows that a query has read, read again through Spark's source and headwater.

Nothing is committed, written or locked.

* `batches`: which batches of a checkpoint are read again, and how fast the query reads;
* `files_trial`: a query of Spark's file source: the files that its log names;
* `kafka_ranges`: offsets of partitions from one batch to another, as far as their records are still there;
* `kafka_reads`: reads of Kafka through both sources: as bytes and as typed rows;
* `kafka_trial`: a query of Spark's Kafka source;
* `reading`: one thing that both sources read, and how long it takes them;
* `report`: the words of a trial;
* `row_comparison`: whether two frames have the same rows, in any order, and where they differ;
* `try_query`: the command, and the options of the query, from the command line and a file.
"""
