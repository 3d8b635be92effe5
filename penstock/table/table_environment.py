"""The entry point of SQL and the Table API."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import penstock.table.resolved_expression  # noqa: F401  for ComputedColumn.get_expression
from penstock.catalog.catalog import Catalog, CatalogDescriptor
from penstock.catalog.catalog_manager import CatalogManager
from penstock.catalog.changelog_mode import ChangelogMode
from penstock.catalog.identifiers import split_path
from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema
from penstock.catalog.table_descriptor import TableDescriptor
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.typeinfo import RowTypeInfo
from penstock.datastream.builder import deprecated
from penstock.datastream.context import context_configuration
from penstock.datastream.shipped_files import ShippedFiles
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.dialect.statements import QueryStatement
from penstock.sql.operations.explain import explain_text
from penstock.sql.operations.plans import compiled_statement
from penstock.sql.plan.algebra import Plan
from penstock.sql.session import SqlSession
from penstock.sql.spark.hive_dialect import speaks_hive
from penstock.sql.user_functions import as_user_function
from penstock.table.compiled_plan import CompiledPlan, loaded_plan
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain_detail import detail_names
from penstock.table.model_calls import ModelCalls
from penstock.table.module import Module, ModuleEntry
from penstock.table.plan_reference import PlanReference
from penstock.table.resolving.context import RefusedBy
from penstock.table.sources import rows_of_elements, table_of_descriptor
from penstock.table.statement_set import StatementSet, StreamStatementSet
from penstock.table.stream_bridge import converted, stream_from_table, table_from_stream
from penstock.table.stream_fields import flagged_stream, table_from_fields, typed_stream
from penstock.table.table import Table
from penstock.table.table_config import ConfigMapping, LayeredMapping, TableConfig
from penstock.table.table_result import TableResult

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(ModelCalls):
    """Runs SQL against catalogs; make one with `TableEnvironment.create(settings)`."""

    def __init__(self, environment_settings: EnvironmentSettings) -> None:
        self._settings = environment_settings
        self._config = TableConfig(environment_settings.get_configuration())
        catalogs = CatalogManager(
            environment_settings.get_built_in_catalog_name(),
            environment_settings.get_built_in_database_name(),
        )
        config = ConfigMapping(self._config.get_configuration())
        self._session = SqlSession(catalogs, config, environment_settings.is_streaming_mode())

    @staticmethod
    def create(environment_settings: EnvironmentSettings) -> TableEnvironment:
        """A new environment with a catalog of its own; it starts from what `penstock run -D` says, as in Flink.

        Example:
            ```python
            tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
            ```
        """
        made = TableEnvironment(environment_settings)
        for key, value in context_configuration().to_dict().items():
            if key not in made._session.config and key != "execution.runtime-mode":
                made._session.config[key] = value
        return made

    def get_config(self) -> TableConfig:
        """The settings of the session, read when a statement is planned."""
        return self._config

    # -- what functions need -----------------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """A Python file, package folder or zip that functions can import."""
        self._dependencies().add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """An archive that is unpacked where functions run, in the folder `target_dir` of their working directory."""
        self._dependencies().add_python_archive(archive_path, target_dir)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """A requirements.txt of packages that functions need, with a folder of downloaded ones."""
        self._dependencies().set_python_requirements(requirements_file_path, requirements_cache_dir)

    def _dependencies(self) -> ShippedFiles:
        return ShippedFiles(self._config.get_configuration())

    # -- SQL -------------------------------------------------------------------------------------------

    def execute_sql(self, stmt: str) -> TableResult:
        """Runs one statement. Queries compute their rows when they are collected; INSERT runs now.

        Example:
            ```python
            tables.execute_sql("CREATE TABLE n (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '10')")
            tables.execute_sql("SELECT COUNT(*) FROM n").print()
            ```
        """
        return TableResult(self._session.execute(stmt))

    def explain_sql(self, stmt: str, *extra_details: int) -> str:
        """How a statement would run, as text; nothing runs.

        Example:
            ```python
            print(tables.explain_sql("SELECT customer, SUM(amount) FROM orders GROUP BY customer"))
            ```
        """
        details = detail_names(extra_details)
        return explain_text(self._session, self._session.parse(stmt), details)

    def create_statement_set(self) -> StatementSet:
        """INSERTs that run as one job.

        Example:
            ```python
            both = tables.create_statement_set()
            both.add_insert_sql("INSERT INTO large SELECT * FROM orders WHERE amount > 100")
            both.add_insert_sql("INSERT INTO small SELECT * FROM orders WHERE amount <= 100")
            both.execute().wait()  # one job that reads orders once
            ```
        """
        return StatementSet(self._session)

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """The plan of an INSERT, or of a statement set, in a form that can be stored."""
        return CompiledPlan(compiled_statement(self._session, stmt))

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """A plan that was stored, checked against this environment."""
        return CompiledPlan(loaded_plan(self._session, plan_reference))

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Loads a plan and runs it."""
        return self.load_plan(plan_reference).execute()

    def sql_query(self, query: str) -> Table:
        """The table that a query gives; it runs when the table is executed.

        Example:
            ```python
            per_customer = tables.sql_query("SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer")
            per_customer.execute().print()
            ```
        """
        if speaks_hive(self._session.config):
            return Table(self._session.hive.plan(query), self._session)
        statement = parse_statement(query)
        if not isinstance(statement, QueryStatement):
            raise ValidationError("sql_query takes a query", do="use execute_sql(...) for other statements")
        return Table(self._session.bind(statement.ast, statement.sql), self._session)

    def from_path(self, path: str) -> Table:
        """A table or view of the catalogs.

        Example:
            ```python
            large = tables.from_path("orders").where(col("amount") > 100)
            ```
        """
        if not isinstance(path, str):
            raise ValidationError(f"from_path takes the path of a table, got {path!r}")
        quoted = ".".join(f"`{part.replace('`', '``')}`" for part in split_path(path))
        statement = parse_statement(f"SELECT * FROM {quoted}")
        assert isinstance(statement, QueryStatement)
        source = statement.ast.args["from_"].this  # the table itself: `*` would be a projection of nothing
        return Table(self._session.bind(source, statement.sql), self._session)

    def scan(self, *table_path: str) -> Table:
        """A table or view, by the parts of its path: Flink 1.x's `from_path`."""
        deprecated("scan", "from_path")
        return self.from_path(".".join(f"`{part}`" for part in table_path))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """A table that only a descriptor names."""
        return Table(table_of_descriptor(self._session, descriptor), self._session)

    def from_elements(self, elements: Iterable[Any], schema: Any = None, verify_schema: bool = True) -> Table:
        """A table of Python values: rows, tuples, dicts, or expressions `row(...)`.

        Args:
            schema: A ROW type, a type of single values, names of columns, or None, which infers both.
            verify_schema: Whether each value is checked against its declared type.

        Example:
            ```python
            orders = tables.from_elements([("anna", 3), ("ben", 5)], ["customer", "amount"])
            ```
        """
        return Table(rows_of_elements(self._session, elements, schema, verify_schema), self._session)

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of a pandas DataFrame; `schema` are names, types or a ROW type for its columns.

        Example:
            ```python
            orders = tables.from_pandas(pd.DataFrame({"customer": ["anna"], "amount": [3]}))
            ```
        """
        from penstock.table.pandas_frames import rows_of_frame

        return Table(rows_of_frame(pdf, schema), self._session)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """A name for a table, under which SQL finds it.

        Example:
            ```python
            tables.create_temporary_view("large", tables.sql_query("SELECT * FROM orders WHERE amount > 100"))
            ```
        """
        table = table_or_data_stream
        if not isinstance(table, Table):
            raise ValidationError(
                f"a view is made of a table, got {type(table).__name__}",
                do="use StreamTableEnvironment for views of streams",
            )
        self._session.catalogs.create_table(
            split_path(view_path), table.plan, temporary=True, if_not_exists=False
        )

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool | None = False) -> None:
        """A view that the catalog keeps; only tables that are SQL text can be kept."""
        raise NotSupportedError(
            "create_view of a table",
            "a catalog keeps the text of a view, and a table of the Table API has none",
            do="use create_temporary_view(...), or CREATE VIEW in SQL",
        )

    # -- catalogs --------------------------------------------------------------------------------------

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Makes a catalog known under a name."""
        self._session.catalogs.register_catalog(catalog_name, catalog)

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Makes a catalog as CREATE CATALOG does."""
        from penstock.sql.catalog_types import create_catalog_from_options

        options = dict(catalog_descriptor.configuration)
        catalog = create_catalog_from_options(catalog_name, options)
        self._session.catalogs.register_catalog(catalog_name, catalog, options)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """The catalog of this name; None if there is none."""
        return self._session.catalogs.catalogs.get(catalog_name)

    def use_catalog(self, catalog_name: str) -> None:
        """Names without a catalog are looked up here from now on."""
        self._session.catalogs.use_catalog(catalog_name)

    def use_database(self, database_name: str) -> None:
        """Names without a database are looked up here from now on."""
        self._session.catalogs.use_database((database_name,))

    def get_current_catalog(self) -> str:
        """Where names without a catalog are looked up."""
        return self._session.catalogs.current_catalog

    def get_current_database(self) -> str:
        """Where names without a database are looked up."""
        return self._session.catalogs.current_database or ""

    def list_catalogs(self) -> list[str]:
        """The names of all catalogs, sorted."""
        return sorted(self._session.catalogs.catalogs)

    def list_databases(self) -> list[str]:
        """The names of the current catalog's databases."""
        catalogs = self._session.catalogs
        return catalogs.catalog(catalogs.current_catalog).list_databases()

    def list_tables(self) -> list[str]:
        """The names of tables and views of the current database, temporary ones too."""
        return self._session.catalogs.list_tables()

    def list_views(self) -> list[str]:
        """The names of the current database's views, temporary ones too."""
        return self._session.catalogs.list_tables(views_only=True)

    def list_materialized_tables(self) -> list[str]:
        """The names of the current database's materialized tables."""
        return []

    def list_temporary_tables(self) -> list[str]:
        """The names of temporary tables of the current database."""
        return self._temporary(views=False)

    def list_temporary_views(self) -> list[str]:
        """The names of temporary views of the current database."""
        return self._temporary(views=True)

    def _temporary(self, views: bool) -> list[str]:
        catalogs = self._session.catalogs
        here = (catalogs.current_catalog, catalogs.current_database)
        return sorted(
            i.object_name
            for i, t in catalogs.temporary.items()
            if (i.catalog_name, i.database_name) == here and (not views or not isinstance(t, CatalogTable))
        )

    def load_module(self, module_name: str, module: Module) -> None:
        """Makes a module known; it is used behind those that are used already."""
        self._session.catalogs.modules.load(module_name, module)

    def unload_module(self, module_name: str) -> None:
        """Takes a module away; its functions are not found any more."""
        self._session.catalogs.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Uses these modules only, in this order; the others stay loaded."""
        self._session.catalogs.modules.use(module_names)

    def list_modules(self) -> list[str]:
        """The modules that are used, in the order they are asked for a function."""
        return list(self._session.catalogs.modules.used)

    def list_full_modules(self) -> list[ModuleEntry]:
        """All modules that are loaded, the used ones first."""
        return [ModuleEntry(name, used) for name, used in self._session.catalogs.modules.entries()]

    def list_user_defined_functions(self) -> list[str]:
        """The names of the functions that users have added."""
        return [row[0] for row in self._session.execute("SHOW USER FUNCTIONS").rows()]

    def list_functions(self) -> list[str]:
        """The names of all functions, built-in ones too."""
        return [row[0] for row in self._session.execute("SHOW FUNCTIONS").rows()]

    # -- tables ----------------------------------------------------------------------------------------

    def create_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False
    ) -> bool:
        """Makes a table in a catalog, as CREATE TABLE does."""
        existed = self._session.catalogs.find_table(split_path(path)) is not None
        self._create(path, descriptor, False, bool(ignoreIfExists))
        return not existed

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False
    ) -> None:
        """Makes a table that ends with the session, and hides one of its name.

        Example:
            ```python
            schema = Schema.new_builder().column("id", DataTypes.BIGINT()).build()
            tables.create_temporary_table("out", TableDescriptor.for_connector("print").schema(schema).build())
            ```
        """
        self._create(path, descriptor, True, bool(ignoreIfExists))

    def _create(self, path: str, descriptor: TableDescriptor, temporary: bool, if_not_exists: bool) -> None:
        from dataclasses import replace

        from penstock.sql.operations.ddl import check_table, with_key_not_null

        table = descriptor.to_catalog_table()
        table = replace(table, schema=with_key_not_null(table.schema))
        parts = split_path(path)
        check_table(self._session, self._session.catalogs.identifier(parts), table)
        self._session.catalogs.create_table(parts, table, temporary=temporary, if_not_exists=if_not_exists)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drops a temporary table; False if there is none."""
        return self._drop(table_path, view=False, temporary=True)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drops a temporary view; False if there is none."""
        return self._drop(view_path, view=True, temporary=True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drops a table of a catalog; False if there is none."""
        return self._drop(table_path, view=False, temporary=False, lenient=bool(ignore_if_not_exists))

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drops a view of a catalog; False if there is none."""
        return self._drop(view_path, view=True, temporary=False, lenient=bool(ignore_if_not_exists))

    def _drop(self, path: str, *, view: bool, temporary: bool, lenient: bool = True) -> bool:
        parts = split_path(path)
        existed = self._session.catalogs.find_table(parts) is not None
        self._session.catalogs.drop_table(parts, view=view, temporary=temporary, if_exists=lenient)
        return existed

    # -- functions -------------------------------------------------------------------------------------

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Makes a Python function known in the current database until the session ends.

        Example:
            ```python
            @udf(result_type=DataTypes.BIGINT())
            def twice(n):
                return 2 * n

            tables.create_temporary_function("twice", twice)
            tables.execute_sql("SELECT twice(21)").print()
            ```
        """
        parts = split_path(path)
        identifier = self._session.catalogs.identifier((*parts[:-1], parts[-1].lower()))
        with RefusedBy("create_temporary_function"):
            self._session.catalogs.temporary_functions[identifier] = as_user_function(parts[-1], function)

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Makes a Python function known everywhere until the session ends."""
        with RefusedBy("create_temporary_system_function"):
            self._session.catalogs.system_functions[name.lower()] = as_user_function(name, function)

    def drop_temporary_function(self, path: str) -> bool:
        """Drops a temporary function; False if there is none."""
        parts = split_path(path)
        identifier = self._session.catalogs.identifier((*parts[:-1], parts[-1].lower()))
        return self._session.catalogs.temporary_functions.pop(identifier, None) is not None

    def drop_temporary_system_function(self, name: str) -> bool:
        """Drops a temporary system function; False if there is none."""
        return self._session.catalogs.system_functions.pop(name.lower(), None) is not None

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> None:
        """Refused: there is no JVM of Flink's to run it."""
        raise _java_function(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Refused: there is no JVM of Flink's to run it."""
        raise _java_function(function_class_name)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Refused: there is no JVM of Flink's to run it."""
        raise _java_function(function_class_name)

    def drop_function(self, path: str) -> bool:
        """Drops a function of a catalog; False if there is none."""
        parts = split_path(path)
        identifier = self._session.catalogs.identifier(parts)
        catalog = self._session.catalogs.catalog(identifier.catalog_name)
        existed = catalog.function_exists(identifier.to_object_path())
        catalog.drop_function(identifier.to_object_path(), True)
        return existed


class StreamTableEnvironment(TableEnvironment):
    """A TableEnvironment that shares its streams with a StreamExecutionEnvironment: tables and streams of one job."""

    def __init__(self, environment_settings: EnvironmentSettings, stream_execution_environment: Any) -> None:
        super().__init__(environment_settings)
        self._stream_environment = stream_execution_environment
        if stream_execution_environment is not None:
            below = stream_execution_environment.get_configuration()
            self._config = TableConfig(self._config.get_configuration(), below)
            self._session.config = LayeredMapping(self._config.get_configuration(), below)
        self._borders = itertools.count(1)
        self._streams = itertools.count()
        self._untouched: dict[int, tuple[Plan, Any]] = {}
        """Streams of rows that became tables as they are: `to_data_stream` gives the stream back, as in Flink."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: Any = None, environment_settings: EnvironmentSettings | None = None
    ) -> StreamTableEnvironment:
        """Tables beside the streams of an environment, or of a new one.

        Example:
            ```python
            env = StreamExecutionEnvironment.get_execution_environment()
            tables = StreamTableEnvironment.create(env)
            ```
        """
        if stream_execution_environment is None:
            if environment_settings is None:
                raise ValidationError(
                    "StreamTableEnvironment.create() needs a StreamExecutionEnvironment or EnvironmentSettings",
                    do="pass StreamExecutionEnvironment.get_execution_environment()",
                )
            from penstock.datastream import StreamExecutionEnvironment

            stream_execution_environment = StreamExecutionEnvironment.get_execution_environment()
        settings = environment_settings or _settings_of(stream_execution_environment)
        return StreamTableEnvironment(settings, stream_execution_environment)

    def from_data_stream(self, data_stream: Any, *fields_or_schema: Any) -> Table:
        """The stream as a table of insertions; a schema may choose and declare columns and a watermark.

        Example:
            ```python
            table = tables.from_data_stream(orders, Schema.new_builder().column("f0", "STRING").build())
            ```
        """
        table = self._from_stream(data_stream, fields_or_schema, None)
        if not fields_or_schema and isinstance(data_stream.get_type(), RowTypeInfo):
            self._untouched[id(table.plan)] = table.plan, data_stream
        return table

    def from_changelog_stream(
        self, data_stream: Any, schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> Table:
        """The stream, whose rows have a kind, as a table that changes."""
        mode = changelog_mode or ChangelogMode.all()
        if not self._session.streaming and mode != ChangelogMode.insert_only():
            raise ValidationError(
                "a table of BATCH mode cannot be a stream of changes: its rows are only inserted",
                do="use from_data_stream(...), or EnvironmentSettings.in_streaming_mode()",
            )
        return self._from_stream(data_stream, () if schema is None else (schema,), mode)

    def _from_stream(self, data_stream: Any, given: Sequence[Any], mode: ChangelogMode | None) -> Table:
        schema = given[0] if given else None
        if data_stream.get_execution_environment() is not self._stream_environment:
            raise ValidationError(
                "the DataStream belongs to another StreamExecutionEnvironment than this StreamTableEnvironment",
                do="call StreamTableEnvironment.create(env) with the environment that made the stream",
            )
        name = f"stream_{next(self._streams)}"
        if given and not isinstance(schema, Schema):
            return Table(table_from_fields(self._session, data_stream, name, given), self._session)
        if len(given) > 1:
            raise ValidationError("from_data_stream takes one schema, or expressions")
        plan, declared = table_from_stream(self._session, data_stream, name, schema, mode)
        return Table(plan, self._session, declared)

    def to_data_stream(self, table: Table) -> Any:
        """The rows of a table that is only appended to; its row time becomes the timestamp of the elements.

        Example:
            ```python
            tables.to_data_stream(tables.sql_query("SELECT customer, amount FROM orders")).print()
            ```
        """
        plan, stream = self._untouched.get(id(table.plan), (None, None))
        if plan is table.plan:
            return stream
        return stream_from_table(self._session, self._stream_environment, table.plan, self._prefix())

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> Any:
        """The changes of a table, as rows with a kind.

        Example:
            ```python
            totals = tables.sql_query("SELECT customer, SUM(amount) FROM orders GROUP BY customer")
            tables.to_changelog_stream(totals).print()  # +I, -U, +U rows
            ```
        """
        mode = changelog_mode or ChangelogMode.all()
        plan, timed = converted(table.plan, target_schema)
        return stream_from_table(self._session, self._stream_environment, plan, self._prefix(), mode, timed)

    def to_append_stream(self, table: Table, type_info: Any) -> Any:
        """The rows of a table that is only appended to, as elements of a type."""
        deprecated("to_append_stream", "to_data_stream")
        return typed_stream(self.to_data_stream(table), type_info)

    def to_retract_stream(self, table: Table, type_info: Any) -> Any:
        """The changes of a table as pairs: whether the row is added or taken back, and the row."""
        deprecated("to_retract_stream", "to_changelog_stream")
        return flagged_stream(self.to_changelog_stream(table), type_info)

    def _prefix(self) -> str:
        """Tells the operators of this border from those of other ones in the same job."""
        return f"table-{next(self._borders)}-"

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """A name for a table or a stream, under which SQL finds it."""
        table = table_or_data_stream
        if not isinstance(table, Table):
            table = self._from_stream(table, fields_or_schema, None)
        super().create_temporary_view(view_path, table)

    def create_statement_set(self) -> StatementSet:
        """INSERTs that run as one job, also together with the steps of the environment."""
        return StreamStatementSet(self._session, self._stream_environment, self._prefix)


def _java_function(class_name: str) -> NotSupportedError:
    return NotSupportedError(
        f"the Java function {class_name}",
        "functions are Python here: there is no Java class path",
        do="write it with udf(...) and call create_temporary_function(...)",
    )


def _settings_of(stream_execution_environment: Any) -> EnvironmentSettings:
    """The runtime mode of a stream environment; what else it has configured is read when it is asked for."""
    mode = stream_execution_environment.get_configuration().get_string("execution.runtime-mode", "STREAMING")
    batch = mode.upper() == "BATCH"
    return EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
