"""The paper's two results tables: the published numbers, our numbers beside them, and the file formats."""
