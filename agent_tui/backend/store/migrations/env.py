"""Alembic runs this file; the connection comes from ``database.bring_up_to_date``, in a transaction."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
