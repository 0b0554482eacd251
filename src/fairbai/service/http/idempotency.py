"""The Idempotency-Key of a request."""

from starlette.requests import Request

from fairbai.service.domain.refusals import invalid

KEY_HEADER = b"idempotency-key"
MAX_KEY = 200  # characters of an Idempotency-Key


def key_of(request: Request) -> str | None:
    """The Idempotency-Key of a request; straight from its bytes, as ``request.headers`` takes longer to make."""
    given = next((value for name, value in request.scope["headers"] if name == KEY_HEADER), None)
    if given is None:
        return None
    key: str = given.decode("latin-1")
    if not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise invalid(f"Idempotency-Key must be 1 to {MAX_KEY} visible ASCII characters")
    return key
