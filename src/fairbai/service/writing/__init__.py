"""From operations to committed transactions."""
