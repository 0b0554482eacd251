"""Measurements of fairbai beside its peers."""

import os

os.environ.setdefault("FAIRBAI_JIT", "wait")  # before fairbai is imported: only compiled kernels are compared
