"""How a TableEnvironment starts: streaming or batch, the built-in catalog, configuration."""

from __future__ import annotations

from penstock.common.configuration import Configuration

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """Settings of a TableEnvironment; `in_batch_mode()` and `in_streaming_mode()` are the usual ones."""

    def __init__(
        self,
        streaming: bool = True,
        catalog: str = "default_catalog",
        database: str = "default_database",
        configuration: Configuration | None = None,
    ) -> None:
        self._streaming = streaming
        self._catalog = catalog
        self._database = database
        self._configuration = configuration or Configuration()

    class Builder:
        """Collects settings."""

        def __init__(self) -> None:
            self._streaming = True
            self._catalog = "default_catalog"
            self._database = "default_database"
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Adds options; `execution.runtime-mode` among them chooses batch or streaming."""
            self._configuration.add_all(config)
            mode = config.get_string("execution.runtime-mode", None)
            if mode is not None:
                self._streaming = mode.upper() != "BATCH"
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Queries read bounded tables and end; each gives its final result once."""
            self._streaming = False
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Queries go on as long as their tables do, and tell changes; so it is from the start."""
            self._streaming = True
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            """The name of the catalog in memory; `default_catalog` if it is not said."""
            self._catalog = built_in_catalog_name
            return self

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            """The name of its database; `default_database` if it is not said."""
            self._database = built_in_database_name
            return self

        def build(self) -> EnvironmentSettings:
            """The settings as they are now.

            Example:
                ```python
                settings = EnvironmentSettings.new_instance().in_batch_mode().build()
                tables = TableEnvironment.create(settings)
                ```
            """
            return EnvironmentSettings(self._streaming, self._catalog, self._database, self._configuration)

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Begins settings; streaming mode unless the builder says otherwise."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Queries run until their input ends and keep their results up to date."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Queries run once over bounded input, each as one Spark SQL plan."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def get_built_in_catalog_name(self) -> str:
        """The catalog that an environment begins with."""
        return self._catalog

    def get_built_in_database_name(self) -> str:
        """The database that an environment begins with."""
        return self._database

    def is_streaming_mode(self) -> bool:
        """Whether queries keep their results up to date."""
        return self._streaming

    def get_configuration(self) -> Configuration:
        """The settings as configuration, the runtime mode included."""
        configuration = Configuration(self._configuration)
        mode = "STREAMING" if self._streaming else "BATCH"
        return configuration.set_string("execution.runtime-mode", mode)
