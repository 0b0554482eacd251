"""Experiments, operations and answers: no SQL and no HTTP."""
