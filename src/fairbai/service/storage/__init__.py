"""What is kept in the database, and how."""
