"""The database: connections, tables, migrations, keys, logs."""
