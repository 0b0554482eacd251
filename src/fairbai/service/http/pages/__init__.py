"""The dashboard: pages that show and plan experiments, over the same calls as every other client."""
