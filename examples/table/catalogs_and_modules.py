"""Where names of tables and functions come from: catalogs, databases and modules."""

from penstock.table import DataTypes, EnvironmentSettings, Module, Schema, TableDescriptor, TableEnvironment
from penstock.table.catalog import CatalogDatabase, GenericInMemoryCatalog, ObjectPath
from penstock.table.udf import udf
from penstock.util.exceptions import DatabaseNotExistException


class Greetings(Module):
    """Functions of the program, under names that all of its SQL knows."""

    def list_functions(self):
        return ["greet"]

    def get_function(self, name):
        return udf(lambda whom: f"hello {whom}", result_type=DataTypes.STRING())


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
shop = GenericInMemoryCatalog("shop")
shop.create_database("orders", CatalogDatabase.create_instance({}, "what was bought"), ignore_if_exists=False)
t_env.register_catalog("shop", shop)
t_env.use_catalog("shop")
t_env.use_database("orders")
schema = Schema.new_builder().column("n", DataTypes.INT()).build()
descriptor = TableDescriptor.for_connector("datagen").schema(schema).option("number-of-rows", "3").build()
t_env.create_table("numbers", descriptor)
print(t_env.list_catalogs(), t_env.list_tables(), shop.table_exists(ObjectPath("orders", "numbers")))
try:
    shop.drop_database("returns", ignore_if_exists=False)
except DatabaseNotExistException as error:
    print(type(error).__name__)

t_env.load_module("greetings", Greetings())
print(t_env.list_modules())
print(*next(iter(t_env.sql_query("SELECT greet('ann')").execute().collect())))
