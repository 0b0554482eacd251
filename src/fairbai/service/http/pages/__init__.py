"""The dashboard: pages that plan and show experiments, through the same API as every other client."""
