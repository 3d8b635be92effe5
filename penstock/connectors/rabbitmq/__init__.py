"""RabbitMQ: queues as sources, whose messages are acknowledged when their epoch is committed, and as sinks.

    client.py    a broker: how to get there, errors that say what to do
    consumer.py  the driver's side of reading: a connection that receives, keeps and acknowledges messages
    source.py    `RabbitSource`: enumerator and reader
    sink.py      publishing, in transactions of the channel
    table.py     `'connector' = 'rabbitmq'`; options.py has its options

The client is pika (`penstock[rabbitmq]`).
"""
