"""Apache Kafka: topics as sources and sinks, of programs and of SQL tables.

    client.py        a cluster: its settings under the names of Java's client, admin calls, errors that say what to do
    apart.py         clients in processes beside the driver's, with client_process.py and frames.py
    admin.py         what the driver asks a cluster; admin_client.py is the client
    offsets.py       where reading begins and ends
    subscription.py  which partitions are read
    enumerator.py    the driver's side of reading: partitions, and how far each epoch goes
    cursor.py        the task's side: the messages of a partition from one offset to another
    source.py        `KafkaSource`
    records.py       messages to be written, and many of them as bytes
    sink.py          `KafkaSink` and its writers
    transactions.py  exactly once: publishing an epoch in one transaction, once; transaction_client.py is the client
    options.py, fields.py, table.py, table_reader.py, table_sink.py     the tables of SQL

The client is confluent-kafka (librdkafka), in the tasks and beside the driver; no jar is needed. How exactly-once
works, and what it costs, is told in docs/connectors/kafka.md.
"""
