"""Checkpoint settings read back what was set, and are configuration entries."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Duration
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.datastream import (
    CheckpointConfig,
    CheckpointingMode,
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
    MemorySize,
)


def test_defaults_are_flinks():
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()


def test_what_is_set_is_read_back():
    config = CheckpointConfig()
    config.set_checkpoint_interval(1_000).set_checkpoint_timeout(2_000).set_min_pause_between_checkpoints(300)
    config.set_max_concurrent_checkpoints(2).set_tolerable_checkpoint_failure_number(4)
    config.enable_unaligned_checkpoints().set_aligned_checkpoint_timeout(Duration.of_seconds(1))
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    assert config.is_checkpointing_enabled()
    assert (config.get_checkpoint_timeout(), config.get_min_pause_between_checkpoints()) == (2_000, 300)
    assert config.get_max_concurrent_checkpoints() == 2
    assert not config.is_fail_on_checkpointing_errors()
    assert config.is_unaligned_checkpoints_enabled()
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert config.get_alignment_timeout() == Duration.of_seconds(1)
    assert config.is_externalized_checkpoints_enabled()


def test_old_spellings_name_the_new_ones():
    configuration = Configuration()
    config = CheckpointConfig(configuration)
    with pytest.warns(DeprecationWarning, match="set_externalized_checkpoint_retention"):
        config.enable_externalized_checkpoints(ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION)
    with pytest.warns(DeprecationWarning, match=r"execution\.checkpointing\.dir"):
        config.set_checkpoint_storage(FileSystemCheckpointStorage("/checkpoints"))
    assert configuration.get_string("execution.checkpointing.dir", None) == "/checkpoints"


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.set_checkpoint_interval(0),
        lambda c: c.set_checkpoint_timeout(-1),
        lambda c: c.set_min_pause_between_checkpoints(-1),
        lambda c: c.set_max_concurrent_checkpoints(0),
        lambda c: c.set_tolerable_checkpoint_failure_number(-1),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(ValidationError):
        call(CheckpointConfig())


def test_storages_and_backends_read_back_what_they_were_given():
    assert JobManagerCheckpointStorage().get_max_state_size() == 5 * 1024 * 1024
    storage = FileSystemCheckpointStorage("/c", file_state_size_threshold=10)
    assert (storage.get_checkpoint_path(), storage.get_min_file_size_threshold()) == ("/c", 10)
    with pytest.raises(ValidationError, match="directory"):
        FileSystemCheckpointStorage()
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("file:///a", "/b")
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert not backend.is_incremental_checkpoints_enabled()
    with pytest.raises(NotSupportedError):
        CustomStateBackend(object())


def test_memory_sizes_compare():
    assert MemorySize.of_mebi_bytes(2) == MemorySize(2 << 20)
    assert MemorySize(1) < MemorySize(2)
    assert MemorySize(3 << 30).get_gibi_bytes() == 3
