"""Which target subtask each element of a batch goes to: one router per partitioner kind.

A router takes a batch and hands slices of it to `send(target, values, timestamps)`. All of them are
deterministic: a task that Spark runs again after a lost shuffle file must produce what it produced before,
because half of its consumers may have read the first copy.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common.codecs import compile_codec
from penstock.common.errors import ValidationError
from penstock.common.key_groups import key_group_for, subtask_for_key_group
from penstock.graph.transformations import Partitioner, PartitionerKind

if TYPE_CHECKING:
    from penstock.common.codecs import Codec

Timestamps = list[int] | None
Send = Callable[[int, list[Any], Timestamps], None]
Router = Callable[[list[Any], Timestamps], None]

_CACHED_KEYS = 200_000


def make_router(
    partitioner: Partitioner, *, source_subtask: int, source_parallelism: int, targets: int,
    max_parallelism: int, seed: int, send: Send,
) -> Router:  # fmt: skip
    """A router for one outgoing exchange of one subtask; `seed` differs per epoch, not per attempt."""
    kind = partitioner.kind
    if kind is PartitionerKind.BROADCAST:
        return _broadcast(targets, send)
    if kind is PartitionerKind.FORWARD:
        return lambda values, timestamps: send(source_subtask, values, timestamps)
    if kind is PartitionerKind.GLOBAL or (targets == 1 and kind is not PartitionerKind.CUSTOM):
        return lambda values, timestamps: send(0, values, timestamps)
    if kind is PartitionerKind.HASH:
        return _by_key(_key_target(partitioner, max_parallelism, targets), targets, send)
    if kind is PartitionerKind.CUSTOM:
        return _by_key(_custom_target(partitioner, targets), targets, send)
    if kind is PartitionerKind.SHUFFLE:
        generator = random.Random(seed * 1_000_003 + source_subtask)
        return _by_key(lambda value: generator.randrange(targets), targets, send)
    group = range(targets)
    if kind is PartitionerKind.RESCALE:
        group = rescale_targets(source_subtask, source_parallelism, targets)
    return _round_robin(group, (seed + source_subtask) % len(group), send)


def connects(partitioner: Partitioner, source: int, sources: int, target: int, targets: int) -> bool:
    """Whether there is a channel from one subtask to another: a receiver waits for its channels only."""
    if partitioner.kind in (PartitionerKind.FORWARD, PartitionerKind.CATALYST):
        return source == target
    if partitioner.kind is PartitionerKind.RESCALE:
        return target in rescale_targets(source, sources, targets)
    return True


def reaches_all(partitioner: Partitioner) -> bool:
    """Whether every sender has a channel to every receiver, as most partitioners want it."""
    return partitioner.kind not in (
        PartitionerKind.FORWARD,
        PartitionerKind.CATALYST,
        PartitionerKind.RESCALE,
    )


def rescale_targets(source_subtask: int, sources: int, targets: int) -> range:
    """The group of targets that one source subtask feeds under RESCALE."""
    if targets >= sources:
        return range(source_subtask * targets // sources, (source_subtask + 1) * targets // sources)
    first = source_subtask * targets // sources
    return range(first, first + 1)


def _broadcast(targets: int, send: Send) -> Router:
    def route(values: list[Any], timestamps: Timestamps) -> None:
        for target in range(targets):
            send(target, values, timestamps)

    return route


def _round_robin(group: range, start: int, send: Send) -> Router:
    cursor = start

    def route(values: list[Any], timestamps: Timestamps) -> None:
        nonlocal cursor
        width = len(group)
        for lane in range(min(width, len(values))):
            target = group[(cursor + lane) % width]
            send(target, values[lane::width], None if timestamps is None else timestamps[lane::width])
        cursor = (cursor + len(values)) % width

    return route


def _by_key(target_of: Callable[[Any], int], targets: int, send: Send) -> Router:
    def route(values: list[Any], timestamps: Timestamps) -> None:
        lanes: list[list[Any]] = [[] for _ in range(targets)]
        if timestamps is None:
            appends = [lane.append for lane in lanes]
            for value in values:
                appends[target_of(value)](value)
            for target, lane in enumerate(lanes):
                if lane:
                    send(target, lane, None)
            return
        clocks: list[list[int]] = [[] for _ in range(targets)]
        for value, timestamp in zip(values, timestamps, strict=True):
            target = target_of(value)
            lanes[target].append(value)
            clocks[target].append(timestamp)
        for target, lane in enumerate(lanes):
            if lane:
                send(target, lane, clocks[target])

    return route


def _key_target(partitioner: Partitioner, max_parallelism: int, targets: int) -> Callable[[Any], int]:
    """value -> subtask that owns the key's group.

    Encoding and hashing a key costs about 1 µs, looking it up 60 ns, so recent keys are remembered. Equal
    Python keys of different types (1, True, 1.0) are different keys, hence a dict per type; composite keys
    of undeclared type are never remembered, because the same could hide inside them.
    """
    selector = partitioner.key_selector
    if selector is None:
        raise ValidationError("hash partitioning needs a key selector")
    codec: Codec = compile_codec(partitioner.key_type)
    declared = partitioner.key_type is not None
    caches: dict[type, dict[Any, int]] = {}
    plain = (str, int, bytes, float, bool)

    def slow(key: Any) -> int:
        group = key_group_for(codec.encode_key(key), max_parallelism)
        target = subtask_for_key_group(group, max_parallelism, targets)
        kind = key.__class__
        if kind in plain or (declared and kind is tuple):
            cache = caches.setdefault(kind, {})
            if len(cache) >= _CACHED_KEYS:
                cache.clear()
            cache[key] = target
        return target

    def target_of(value: Any) -> int:
        key = selector(value)
        cache = caches.get(key.__class__)
        if cache is not None:
            target = cache.get(key)
            if target is not None:
                return target
        return slow(key)

    return target_of


def _custom_target(partitioner: Partitioner, targets: int) -> Callable[[Any], int]:
    function, selector = partitioner.function, partitioner.key_selector
    if function is None or selector is None:
        raise ValidationError("custom partitioning needs a partitioner and a key selector")

    def target_of(value: Any) -> int:
        target = function(selector(value), targets)
        if not 0 <= target < targets:
            raise ValidationError(
                f"the custom partitioner answered {target!r} for key {selector(value)!r}, "
                f"but there are {targets} partitions",
                do=f"return a number from 0 to {targets - 1}",
            )
        return target

    return target_of
