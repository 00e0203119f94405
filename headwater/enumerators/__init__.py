"""Floor 1: which splits exist.

Imports headwater.core and the systems' own libraries, never pyspark, readers or connector.

* `event_time`: event time while planning: batches of a backlog end at the same time in all splits;
* `files`: files to read: discovery, the state of a query, and the cleaning of committed files;
* `http`: which lists of a REST API a query begins with: those that the user names;
* `hybrid`: which part of a chain of sources is read now, and which splits it has;
* `kafka`: Kafka's driver half: which partitions there are, and where they begin and end. Its client is a
  folder;
* `mqtt`: which sessions at an MQTT broker a query has;
* `postgres`: PostgreSQL's driver half: what a table is, and which parts of it a query reads;
* `simple`: which splits a source in the small form has: its enumerator.
"""
