"""Sources on the public contract alone: each is one module, as a user's own could be.

They import nothing of headwater but ``headwater`` itself and its public modules, so each is an example, too.

* `kinesis`: Amazon Kinesis: shards as splits, sequence numbers as positions;
* `kinesis_records`: records that are packed into one of its records;
* `kinesis_server`: its client;
* `nats`: NATS JetStream: streams as splits, sequences as positions;
* `nats_client`: nats-py's client, which takes many messages at once;
* `nats_server`: its connections, and pages of messages;
* `rabbitmq`: RabbitMQ streams and super streams: streams as splits, offsets as positions;
* `rabbitmq_chunks`: messages of its chunks;
* `rabbitmq_ends`: where its streams begin and end;
* `rabbitmq_frames`: frames of the stream protocol;
* `rabbitmq_payloads`: messages as columns;
* `rabbitmq_server`: its connections;
* `rabbitmq_settings`: how its brokers are reached;
* `rabbitmq_values`: values of AMQP 1.0 in front of payloads;
* `redis`: Redis Streams: keys as splits, ids as positions;
* `redis_server`: its connections.
"""
