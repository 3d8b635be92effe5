"""`cache()`: the elements of a stream, computed by one job and reused by later ones (FLIP-205).

A cached stream starts as a step that passes elements on. The first job that needs it also collects them;
from then on the step reads the collected elements instead of its former input. They are kept by the driver,
so this is for results that fit there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.datastream.builder import call_site, operator_step
from penstock.datastream.stream import DataStream
from penstock.functions.element import MapFunction
from penstock.functions.wrap import as_function
from penstock.graph.transformations import SinkTransformation, SourceTransformation, Transformation
from penstock.operators.map import MapOperator

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["CachedDataStream"]


def _same(value: Any) -> Any:
    return value


class CachedDataStream(DataStream):
    """A stream whose elements are kept after they were computed once."""

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        super().__init__(environment, transformation)
        self._original_inputs = tuple(transformation.inputs)
        self._collecting: Any = None
        self._job: Any = None

    @staticmethod
    def of(stream: DataStream) -> CachedDataStream:
        """Caches `stream`."""
        function = as_function(_same, MapFunction)
        environment = stream.get_execution_environment()
        step = operator_step(
            environment,
            "Cache",
            [stream.transformation],
            lambda: MapOperator(function),
            stream.get_type(),
            parallelism=stream.transformation.parallelism,
        )
        cached = CachedDataStream(environment, step)
        environment.register_cache(cached)
        return cached

    def invalidate(self) -> None:
        """Forgets the elements: the next job computes them again."""
        self._transformation.inputs = self._original_inputs
        self._collecting = self._job = None

    def prepare(self, roots: list[Transformation]) -> list[Transformation]:
        """Called before a job with these ends is submitted; returns what to run in addition."""
        self._take_results()
        if self._is_filled() or not _reaches(roots, self._transformation):
            return []
        from penstock.connectors.collect import CollectSink

        self._collecting = CollectSink(self.get_type())
        return [
            SinkTransformation(
                name="Cache Writer",
                inputs=[self._transformation],
                output_type=self.get_type(),
                parallelism=self._transformation.parallelism,
                sink=self._collecting,
            )
        ]

    def submitted(self, job: Any) -> None:
        """The job that was prepared runs now."""
        if self._collecting is not None and self._job is None:
            self._job = job

    def _is_filled(self) -> bool:
        return tuple(self._transformation.inputs) != self._original_inputs

    def _take_results(self) -> None:
        """Turns what a finished job has collected into the input of this step."""
        if self._job is None:
            return
        job, sink = self._job, self._collecting
        self._job = self._collecting = None
        if job.status().name != "FINISHED":
            return
        from penstock.connectors.collection import CollectionSource

        elements = list(sink.iterator(job))
        source = CollectionSource(elements, self.get_type())
        self._transformation.inputs = (
            SourceTransformation(
                name="Cached", output_type=self.get_type(), parallelism=1, max_parallelism=1, source=source
            ),
        )

    def _refuse(self, setting: str) -> Any:
        raise ValidationError(
            f"{setting} of a cached stream cannot be set",
            where=call_site(),
            do=f"call {setting}(...) before cache()",
        )

    def _operator(self, setting: str) -> Transformation:
        return self._transformation if setting == "get_side_output" else self._refuse(setting)


def _reaches(roots: list[Transformation], target: Transformation) -> bool:
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        transformation = stack.pop()
        if transformation is target:
            return True
        if transformation.id not in seen:
            seen.add(transformation.id)
            stack.extend(transformation.inputs)
    return False
