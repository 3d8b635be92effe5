"""What a program brings to its workers: Python files and archives, requirements, jars, cached files.

Everything is kept as configuration entries under Flink's keys; the runtime ships it when the job starts.
"""

from __future__ import annotations

import os
from typing import TypeVar

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.datastream.builder import call_site

__all__ = ["ShippedFiles"]

Self = TypeVar("Self", bound="ShippedFiles")


class ShippedFiles:
    """Part of `StreamExecutionEnvironment`; table environments have one of their own.

    Args:
        configuration: Where the entries are kept.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def add_jars(self, *jars_path: str) -> None:
        """Java archives for Spark, as `file://` URLs: connectors that Spark's readers need."""
        self._append("pipeline.jars", ";", jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """Kept under `pipeline.classpaths`; jars are what Spark loads."""
        self._append("pipeline.classpaths", ";", classpaths)

    def add_python_file(self, file_path: str) -> None:
        """A Python file, package directory or zip that the workers can import."""
        self._append("python.files", ",", [_existing(file_path)])

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """An archive unpacked on the workers, under `target_dir` if given."""
        entry = _existing(archive_path)
        self._append("python.archives", ",", [entry if target_dir is None else f"{entry}#{target_dir}"])

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """A requirements.txt of packages that the workers need, with a directory of downloaded ones."""
        entry = _existing(requirements_file_path)
        if requirements_cache_dir is not None:
            entry += f"#{requirements_cache_dir}"
        self._configuration.set_string("python.requirements", entry)

    def set_python_executable(self, python_exec: str) -> None:
        """The Python that runs the workers."""
        self._configuration.set_string("python.executable", python_exec)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """A file that functions find by name: `runtime_context.get_distributed_cache().get_file(name)`."""
        for forbidden in ",;":
            if forbidden in file_path or forbidden in name:
                raise ValidationError(
                    f"a cached file's name and path cannot contain {forbidden!r}", where=call_site()
                )
        entry = f"name:{name},path:{file_path},executable:{str(executable).lower()}"
        self._append("pipeline.cached-files", ";", [entry])

    def _append(self, key: str, separator: str, entries: object) -> None:
        present = self._configuration.get_string(key, "") or ""
        added = separator.join(str(entry) for entry in entries)  # type: ignore[attr-defined]
        self._configuration.set_string(key, f"{present}{separator}{added}" if present else added)


def _existing(path: str) -> str:
    """The absolute path; remote ones are left as they are."""
    if "://" in path:
        return path
    absolute = os.path.abspath(path)
    if not os.path.exists(absolute):
        raise ValidationError(f"no such file: {absolute}", where=call_site())
    return absolute
