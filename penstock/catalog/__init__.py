"""Tables before anybody runs them: what is declared, what it is called and where that is kept.

    identifiers.py        ObjectIdentifier: catalog.database.object, always complete; ObjectPath: database.object
    schema.py             Schema: columns, watermark and key as declared, expressions as text
    resolved_schema.py    ResolvedSchema: the same when types are known
    objects.py            CatalogTable: schema, options, partition keys; CatalogView, CatalogDatabase, CatalogFunction
    table_descriptor.py   TableDescriptor: a table described in Python instead of DDL
    conditions.py         conditions on a table's columns that its connector may use to leave rows out
    catalog.py            Catalog: the contract of whatever stores these; `in_memory.py` and `file.py` do
    catalog_manager.py    CatalogManager: the catalogs and temporary objects of one session

Plain data: neither SQL text nor a connector is understood here. `penstock.table` offers the users' part of it under
PyFlink's paths; catalogs that need SQL or another system are put together in `sql/catalog_types.py`.
"""
