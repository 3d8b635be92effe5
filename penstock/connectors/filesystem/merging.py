"""Several files of a table become one, with the same rows in the same order.

Lines are put behind one another as they are. Avro, Parquet and ORC have headers and footers, so their rows are read
and written again, a file in memory at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from penstock.common.datatypes import RowType
from penstock.connectors.filesystem.columnar_writers import columnar_writer, is_columnar
from penstock.connectors.filesystem.files import FileStore
from penstock.formats import find_format

_COPIED_BYTES = 1 << 20


def merge(
    store: FileStore,
    format_name: str,
    row_type: RowType,
    options: Mapping[str, Any],
    parts: Sequence[str],
    target: str,
) -> None:
    """Writes the rows of `parts` to `target`.

    Args:
        row_type: The columns in the files.
        options: The table's options, of which the format reads its own.
    """
    file_format = find_format(format_name)
    values = file_format.read_options(options)
    with store.open_output(target) as output:
        if is_columnar(format_name):
            _columns(store, format_name, row_type, values, parts, output)
        elif file_format.encoder is None:
            _records(store, row_type, values, parts, output)
        else:
            for part in parts:
                with store.open_at(part, 0) as stream:
                    shutil.copyfileobj(stream, output, _COPIED_BYTES)


def _columns(
    store: FileStore,
    format_name: str,
    row_type: RowType,
    options: Mapping[str, Any],
    parts: Sequence[str],
    output: BinaryIO,
) -> None:
    limit_bytes = sum(info.size for info in store.system.get_file_info(list(parts)))
    writer = columnar_writer(format_name, output, row_type, options, limit_bytes)
    for part in parts:
        with store.open_at(part, 0) as stream:
            writer.write_table(_read(format_name, stream))
    writer.finish()


def _read(format_name: str, stream: BinaryIO) -> Any:
    if format_name == "parquet":
        import pyarrow.parquet as pq

        return pq.ParquetFile(stream).read()
    from pyarrow import orc

    return orc.ORCFile(stream).read()


def _records(
    store: FileStore, row_type: RowType, options: Mapping[str, Any], parts: Sequence[str], output: BinaryIO
) -> None:
    from penstock.formats.avro import AvroFileWriter, read_avro

    writer = AvroFileWriter(output, row_type, options["codec"])
    for part in parts:
        with store.open_at(part, 0) as stream:
            for row in read_avro(stream, row_type):
                writer.write(row)
    writer.finish()
