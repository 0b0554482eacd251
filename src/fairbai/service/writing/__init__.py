"""Operations on their way into the database."""
