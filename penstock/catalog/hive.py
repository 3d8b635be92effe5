"""PyFlink's HiveCatalog, which is refused with the way to the same tables."""

from __future__ import annotations

from penstock.catalog.catalog import Catalog
from penstock.common.errors import NotSupportedError

__all__ = ["HiveCatalog"]


class HiveCatalog(Catalog):
    """Tables of a Hive metastore. Spark reaches them itself, so there is no second client here."""

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        raise NotSupportedError(
            f"HiveCatalog '{catalog_name}'",
            "Spark's session has the metastore",
            do=f"CREATE CATALOG {catalog_name} WITH ('type' = 'spark') over a session with enableHiveSupport()",
        )
