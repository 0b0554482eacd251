"""ETags: what a client has already need not be sent again."""


def known(tag: str, if_none_match: str | None) -> bool:
    """Whether a client has this already, by its If-None-Match; proxies may have marked its tag as weak."""
    tags = [part.strip().removeprefix("W/") for part in (if_none_match or "").split(",")]
    return tag in tags or tags == ["*"]
