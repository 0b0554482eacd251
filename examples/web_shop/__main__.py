"""Run the shop: `python -m examples.web_shop`; see README.md."""

import argparse
from contextlib import nullcontext

import uvicorn
from openfeature import api

from examples.own_service import service
from examples.web_shop.shop import BUTTONS, FLAG, PURCHASE, create_shop
from fairbai.client import Client
from fairbai.client.openfeature import FairbaiProvider


def experiment(client: Client, window: float) -> str:
    """The experiment behind the flag: the one that is running, or a new one."""
    known = client.experiments(limit=1, flag=FLAG)["experiments"]
    if known and not known[0]["stopped"]:
        return str(known[0]["id"])
    return client.create(
        "buy button",
        list(BUTTONS),
        delta=0.05,
        family="bernoulli",
        floors=0.1,
        stopping="design_based",  # traffic changes with the hour and the weekday
        report_after=window,
        silence=0.0,  # who has not bought by then has not bought
        flag=FLAG,
        values=BUTTONS,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="A web shop with an experiment behind a flag.")
    parser.add_argument("--port", type=int, default=8080, help="where the shop listens (default: 8080)")
    parser.add_argument("--window", type=float, default=3600.0, help="seconds a visitor has to buy (default: an hour)")
    parser.add_argument("--url", help="URL of a running service (default: start one)")
    parser.add_argument("--key", help="an admin key of that service")
    options = parser.parse_args()
    with nullcontext((options.url, options.key)) if options.url else service() as (url, key):
        with Client(url, key) as client:
            found = experiment(client, options.window)
        api.set_provider(FairbaiProvider(url, key, rewards={PURCHASE: FLAG}))
        sign_in = "" if options.url else f" (sign in with {key})"
        print(f"The experiment: {url}/experiments/{found}{sign_in}")
        print(f"The shop: http://127.0.0.1:{options.port}/ (Ctrl+C ends it)", flush=True)
        uvicorn.run(create_shop(api.get_client()), port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
