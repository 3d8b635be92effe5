"""Kinesis, as PyFlink spells it; refused by `build()`.

Written by tests/parity/refused_systems.py from the inventory of PyFlink's API: change it there.
"""

from __future__ import annotations

from typing import Any

from penstock.datastream.connectors.unsupported import Choice, Settings, UnsupportedSink, refuse
from penstock.functions.legacy import SourceFunction

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]

_BECAUSE = "penstock has no client for Kinesis"


class FlinkKinesisConsumer(SourceFunction, Settings):
    """As PyFlink has it."""

    def __init__(self, streams: Any, deserializer: Any, config_props: Any) -> None:
        refuse("FlinkKinesisConsumer", _BECAUSE)

    def set_periodic_watermark_assigner(self, periodic_watermark_assigner: Any) -> FlinkKinesisConsumer:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_periodic_watermark_assigner", periodic_watermark_assigner)

    def set_shard_assigner(self, shard_assigner: Any) -> FlinkKinesisConsumer:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_shard_assigner", shard_assigner)

    def set_watermark_tracker(self, watermark_tracker: Any) -> FlinkKinesisConsumer:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_watermark_tracker", watermark_tracker)


class KinesisDeserializationSchema(Settings):
    """As PyFlink has it."""

    def __init__(self, j_object: Any = None) -> None:
        super().__init__()


class KinesisFirehoseSink(UnsupportedSink):
    """As PyFlink has it."""

    def __init__(self, j_object: Any = None) -> None:
        refuse("KinesisFirehoseSink", _BECAUSE)

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        """Begins the settings; `build()` refuses them."""
        return KinesisFirehoseSinkBuilder()


class KinesisFirehoseSinkBuilder(Settings):
    """As PyFlink has it: settings of a `KinesisFirehoseSink`."""

    def __init__(self) -> None:
        super().__init__()

    def build(self) -> Any:
        """Refused: there is no KinesisFirehoseSink here. NotSupportedError says why, and what to do."""
        refuse("KinesisFirehoseSink", _BECAUSE)

    def set_delivery_stream_name(self, delivery_stream_name: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_delivery_stream_name", delivery_stream_name)

    def set_fail_on_error(self, fail_on_error: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_fail_on_error", fail_on_error)

    def set_firehose_client_properties(self, firehose_client_properties: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_firehose_client_properties", firehose_client_properties)

    def set_max_batch_size(self, max_batch_size: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_batch_size", max_batch_size)

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_batch_size_in_bytes", max_batch_size_in_bytes)

    def set_max_buffered_requests(self, max_buffered_requests: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_buffered_requests", max_buffered_requests)

    def set_max_in_flight_requests(self, max_in_flight_requests: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_in_flight_requests", max_in_flight_requests)

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_record_size_in_bytes", max_record_size_in_bytes)

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_time_in_buffer_ms", max_time_in_buffer_ms)

    def set_serialization_schema(self, serialization_schema: Any) -> KinesisFirehoseSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_serialization_schema", serialization_schema)


class KinesisShardAssigner(Choice):
    """As PyFlink has it."""

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """A choice that is remembered; what would act on it is refused."""
        return KinesisShardAssigner("default_shard_assigner")

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """A choice that is remembered; what would act on it is refused."""
        return KinesisShardAssigner("uniform_shard_assigner")


class KinesisStreamsSink(UnsupportedSink):
    """As PyFlink has it."""

    def __init__(self, j_object: Any = None) -> None:
        refuse("KinesisStreamsSink", _BECAUSE)

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        """Begins the settings; `build()` refuses them."""
        return KinesisStreamsSinkBuilder()


class KinesisStreamsSinkBuilder(Settings):
    """As PyFlink has it: settings of a `KinesisStreamsSink`."""

    def __init__(self) -> None:
        super().__init__()

    def build(self) -> Any:
        """Refused: there is no KinesisStreamsSink here. NotSupportedError says why, and what to do."""
        refuse("KinesisStreamsSink", _BECAUSE)

    def set_fail_on_error(self, fail_on_error: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_fail_on_error", fail_on_error)

    def set_kinesis_client_properties(self, kinesis_client_properties: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_kinesis_client_properties", kinesis_client_properties)

    def set_max_batch_size(self, max_batch_size: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_batch_size", max_batch_size)

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_batch_size_in_bytes", max_batch_size_in_bytes)

    def set_max_buffered_requests(self, max_buffered_requests: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_buffered_requests", max_buffered_requests)

    def set_max_in_flight_requests(self, max_in_flight_requests: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_in_flight_requests", max_in_flight_requests)

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_record_size_in_bytes", max_record_size_in_bytes)

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_max_time_in_buffer_ms", max_time_in_buffer_ms)

    def set_partition_key_generator(self, partition_key_generator: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_partition_key_generator", partition_key_generator)

    def set_serialization_schema(self, serialization_schema: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_serialization_schema", serialization_schema)

    def set_stream_name(self, stream_name: Any) -> KinesisStreamsSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_stream_name", stream_name)


class PartitionKeyGenerator(Choice):
    """As PyFlink has it."""

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """A choice that is remembered; what would act on it is refused."""
        return PartitionKeyGenerator("fixed")

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """A choice that is remembered; what would act on it is refused."""
        return PartitionKeyGenerator("random")


class WatermarkTracker(Choice):
    """As PyFlink has it."""

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: Any, log_accumulator_interval_millis: Any = -1
    ) -> WatermarkTracker:
        """A choice that is remembered; what would act on it is refused."""
        return WatermarkTracker(
            "job_manager_watermark_tracker", aggregate_name, log_accumulator_interval_millis
        )
