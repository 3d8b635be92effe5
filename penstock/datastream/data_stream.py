"""The streams of the DataStream API, where PyFlink has them. Each class has a file of its own:

stream.py             DataStream            elements, partitionings, sinks
keyed_stream.py       KeyedStream           state per key, rolling aggregates
windowed_stream.py    WindowedStream        windows, with keys and without
connected_streams.py  ConnectedStreams      two inputs, broadcast
joined_streams.py     JoinedStreams         window joins and co-groups (Java API)
interval_join.py      IntervalJoin          joins by time distance (Java API)
cached_stream.py      CachedDataStream      results that later jobs reuse
data_stream_sink.py   DataStreamSink        settings of a sink
result_iterator.py    CloseableIterator     elements that come back to the program
"""

from penstock.datastream.cached_stream import CachedDataStream
from penstock.datastream.connected_streams import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
from penstock.datastream.data_stream_sink import DataStreamSink
from penstock.datastream.interval_join import IntervalJoin, IntervalJoined
from penstock.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.result_iterator import CloseableIterator
from penstock.datastream.stream import DataStream
from penstock.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "IntervalJoined",
    "JoinedStreams",
    "KeyedStream",
    "WindowedStream",
]
