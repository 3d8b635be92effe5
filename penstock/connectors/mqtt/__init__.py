"""MQTT: topics of a broker, read with acknowledgement at the commit, and written.

client.py      how to get there, errors that say what to do
consumer.py    a connection in the driver that receives and acknowledges (`held_queue.py`)
source.py      what is read, and with what promise
sink.py        publishing, a batch at a time
table.py       tables of SQL; options.py has their options
"""
