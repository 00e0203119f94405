"""The Kafka client that driver and readers share. It knows nothing of splits, enumerators or readers.

From the ground up::

    metadata        brokers, topics and partitions, as values
    tls             TLS: settings and contexts          sasl_config     SASL: settings
    property_kinds  the table's types and parsers       properties      the table of kafka.*
    client_config   all settings of a connection
    errors          Kafka's errors as headwater's
    transport       sockets with deadlines              frames          responses, decoded without copies
    sasl            logging in                          requests        Metadata, ListOffsets, DescribeLogDirs
    connection      one broker
    cluster         all brokers: metadata, offsets      pool            connections that outlive tasks
    consumer_group  a group's committed offsets, and its three requests

* `msk_iam`: AWS's IAM as a log-in to Amazon MSK: a signed token, sent with OAUTHBEARER;
* `entra`: the same with Microsoft Entra, for Event Hubs.
"""
