"""Screenshots of all pages for the documentation: ``python -m tests.browser.screenshots docs/images/dashboard``.

The clock of the service starts some days in the past and catches up while trials run, so the screenshots show
experiments that have run for days.
"""

import io
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from fairbai.client import Client, ExperimentOverError
from tests.browser.chromium import FLAGS, chromium
from tests.browser.visitor import Site, play
from tests.service.server import Server

BEHIND = """
import sys, time
from pathlib import Path
real, behind = time.time, Path(sys.argv[1])
time.time = lambda: real() - float(behind.read_text())
from fairbai.cli import main
sys.exit(main(sys.argv[2:]))
"""
HOURS = 9 * 24  # of traffic
LATE, LOST = 0.02, 0.01  # shares of the rewards
FACTORS = {"headline": ["old", "new", "bold"], "picture": ["cat", "dog", "none"], "button": ["buy", "try"]}
EFFECTS = (0.0, 0.12, 0.05, 0.08, 0.04, 0.0, 0.0, 0.06)  # of the levels in this order

# name, labels with their conversion rates, floor, trials per hour, other settings, hour of the start
EXPERIMENTS: tuple[Any, ...] = (
    ("Checkout button", {"Green": 0.10, "Blue": 0.13, "Red": 0.09}, 0.2, 90, {"tolerance": "5%"}, 0),
    ("Pricing page", {"Table": 0.21, "Cards": 0.28}, 0.3, 20, {}, 20),
    (
        *("Newsletter subject", {"Plain": 0.17, "Question": 0.225, "First name": 0.16, "Emoji": 0.13}, 0.1, 40),
        *({"max_trials": 6_000, "deadline": 160, "delta": 1e-7}, 90),
    ),
    ("Onboarding tour", {"None": 0.37, "Short": 0.46, "Long": 0.39}, 0.25, 30, {"deadline": 80, "delta": 0.001}, 110),
)


class Behind(Server):
    """A server whose clock can be set back."""

    def set_back(self, seconds: float) -> None:
        new = self.directory / "behind.new"
        new.write_text(str(seconds))
        os.replace(new, self.directory / "behind")

    def launch(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", BEHIND, str(self.directory / "behind")]
        command += ["serve", "--database", self.url, "--port", str(self.port), "--policy-seconds", "1"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory)
        return self._process


class Traffic:
    """The visitors of one experiment; some rewards arrive late, some never."""

    def __init__(
        self, client: Client, name: str, rates: dict[str, float], floor: float, hourly: int, settings: dict[str, Any]
    ) -> None:
        self.client, self.rates, self.hourly = client, rates, hourly
        form = {"family": "bernoulli", "floors": {"kind": "constant", "floor": floor}, "seed": 5, "lease": 12 * 3600.0}
        self.experiment = client.create(name, list(rates), **{"delta": 0.05, **form, **settings})
        self.rng = random.Random(1)
        self.late: list[dict[str, float]] = []

    def hour(self, hour: int) -> None:
        """One hour of visitors, as many as usual at that time of day."""
        trials = round(self.hourly * (1.1 - math.cos(2 * math.pi * hour / 24)))
        try:
            tickets = self.client.ask(self.experiment, trials)
        except ExperimentOverError:
            return
        now, later = {}, {}
        for ticket in tickets:
            reward, luck = float(self.rng.random() < self.rates[ticket.arm]), self.rng.random()
            if luck > LATE + LOST:
                now[ticket.ticket] = reward
            elif luck > LOST:
                later[ticket.ticket] = reward
        self.late.append(later)
        if len(self.late) > 16:
            now |= self.late.pop(0)
        self.client.tell(self.experiment, now)


def fill(server: Behind, client: Client) -> list[str]:
    """Run experiments over some days; returns their ids."""
    running: list[Traffic] = []
    for hour in range(HOURS):
        server.set_back((HOURS - hour) * 3600.0)
        now = datetime.now(UTC) - timedelta(hours=HOURS - hour)
        running += [Traffic(client, *rest, _ends(more, now)) for *rest, more, begins in EXPERIMENTS if begins == hour]
        for traffic in running:
            traffic.hour(hour)
    server.set_back(0.0)
    return [traffic.experiment for traffic in running]


def _ends(settings: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Settings with a deadline that is given in hours from now."""
    return settings | ({"deadline": now + timedelta(hours=settings["deadline"])} if "deadline" in settings else {})


def ready(page: Page) -> None:
    """Wait until all data and charts are shown."""
    page.wait_for_load_state("load")
    for chart in page.locator(".chart:visible").all():
        expect(chart.locator(".main-svg").first).to_be_visible(timeout=20_000)
    page.wait_for_timeout(1500)


def picture(context: BrowserContext, address: str, target: Path, whole: bool = True, part: str = "") -> None:
    """A screenshot with a reduced palette, to keep the file small; of a part of the page, if it is named."""
    page = context.new_page()
    page.goto(address)
    ready(page)
    shot = page.locator(part).screenshot() if part else page.screenshot(full_page=whole)
    seen = Image.open(io.BytesIO(shot)).convert("RGB")
    seen.quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")
    page.close()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        server = Behind(f"sqlite:///{name}/fairbai.db", Path(name))
        server.set_back(HOURS * 3600.0)
        browser = playwright.chromium.launch(executable_path=chromium(playwright), args=FLAGS)
        try:
            site = Site(server.start(), browser)
            decided, _, running, ended = fill(server, site.client)
            while site.client.status(ended)["state"] == "running":  # the service ends it by itself
                time.sleep(1.0)
            take(site, folder, decided, running, ended)
            take_effects(site, folder)
            site.leave()
        finally:
            browser.close()
            server.stop()


def take(site: Site, folder: Path, decided: str, running: str, ended: str) -> None:
    desk = {scheme: site.visitor(color_scheme=scheme).page.context for scheme in ("light", "dark")}
    phone = site.visitor(width=360, color_scheme="light").page.context
    at = f"{site.base}/experiments"
    stranger = site.visitor(role=None).page.context
    picture(stranger, f"{site.base}/sign-in", folder / "sign-in.png")
    picture(desk["light"], f"{site.base}/plan", folder / "plan.png")
    picture(desk["light"], at, folder / "experiments.png")
    picture(desk["light"], f"{at}/{running}", folder / "experiment.png")
    picture(desk["dark"], f"{at}/{decided}", folder / "experiment-dark.png")
    picture(desk["light"], f"{at}/{decided}/audit", folder / "audit.png")
    picture(phone, f"{at}/{running}", folder / "experiment-phone.png", whole=False)
    picture(desk["light"], f"{at}/{ended}", folder / "experiment-stopped.png", whole=False)


def take_effects(site: Site, folder: Path) -> None:
    """The effects of the levels of a test of combinations that runs."""
    form = {"family": {"kind": "gaussian", "variance": 0.25}, "floors": {"headline": 0.25}, "seed": 1}
    experiment = site.client.create("landing page", None, delta=0.05, factors=FACTORS, **form)
    added = dict(zip([level for levels in FACTORS.values() for level in levels], EFFECTS, strict=True))
    arms = [" / ".join(levels) for levels in itertools.product(*FACTORS.values())]
    rates = {arm: 0.4 + sum(added[level] for level in arm.split(" / ")) for arm in arms}
    play(site.client, experiment, rates, random.Random(1), most=1500)
    desk = site.visitor(color_scheme="light").page.context
    picture(desk, f"{site.base}/experiments/{experiment}", folder / "effects.png", part="#effects-card")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
