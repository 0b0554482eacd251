"""``python -m tests.truth``: the figures of all findings, before and now."""

from tests.truth.findings import FINDINGS


def main() -> None:
    """Print one row per finding; end with exit code 1 if a claim does not hold."""
    broken = 0
    print("| finding | claim | before | now |\n| --- | --- | --- | --- |")
    for finding in FINDINGS:
        figure = finding.measure()
        broken += not figure.holds
        print(f"| {finding.number} | {finding.claim} | {finding.before} | {figure.text} |", flush=True)
    raise SystemExit(f"{broken} of {len(FINDINGS)} claims do not hold" if broken else 0)


if __name__ == "__main__":
    main()
