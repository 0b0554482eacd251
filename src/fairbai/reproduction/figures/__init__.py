"""The paper's figures: ``catalog`` declares them, one module per kind draws them, ``findings`` says what they show."""
