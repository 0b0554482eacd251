"""Requests, responses and the dashboard."""
