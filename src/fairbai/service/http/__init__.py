"""Requests and responses, and the pages."""
