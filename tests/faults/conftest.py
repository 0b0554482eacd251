from tests.service.conftest import cluster, nursery, postgresql, sqlite, start

__all__ = ["cluster", "nursery", "postgresql", "sqlite", "start"]
