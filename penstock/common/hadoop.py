"""What `hdfs://` needs, said once: Hadoop's own client, which is Java and lives in the Python process."""

from __future__ import annotations

from penstock.common.errors import MissingDependencyError

__all__ = ["hdfs_failure"]


def hdfs_failure(uri: str, error: Exception) -> MissingDependencyError | None:
    """The error to raise instead of pyarrow's for a path on HDFS; None for other paths.

    >>> hdfs_failure("s3://b/x", OSError("no")) is None
    True
    """
    if not uri.startswith(("hdfs://", "viewfs://")):
        return None
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return MissingDependencyError(
        f"cannot reach {uri}: {first}",
        where="the driver, and every host with executors",
        do="HDFS needs Hadoop's client: set JAVA_HOME, HADOOP_HOME, ARROW_LIBHDFS_DIR to the folder of libhdfs.so,\n"
        "and CLASSPATH to what `hadoop classpath --glob` prints. Without it use s3://, gs://, abfs:// or a mounted\n"
        "folder",
    )
