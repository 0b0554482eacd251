"""Runs migrations on the connection that ``fairbai.service.storage.database`` hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
context.run_migrations()
