"""The paper's evaluation, reproduced: how an instance becomes a figure.

``scenarios`` (the paper's instances) → ``studies`` (their simulation) → ``tables`` and ``figures`` (next to what the
paper published), ``errata`` (counterexamples) and ``past`` (what goes past the paper) → ``page`` (the HTML report).
``reproduce`` runs all of it.
"""
