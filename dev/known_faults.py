"""Ask a package index what is known against the pinned versions: `python dev/known_faults.py 'https://INDEX/pypi/NAME/json'`.

For places where pip-audit cannot ask its database. The index tells of a project's newest version only, so a pin that is
older is named, to be looked at by hand. It also tells when the newest was released, which goes into the page on
dependencies with `--write`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "dev" / "dependencies.md"
TRIES, PATIENCE = 3, 60.0  # seconds
COLUMNS = 6  # package, licence, keeper, pinned, newest, released


@dataclass(frozen=True)
class Known:
    name: str
    pinned: str  # nothing: not pinned
    newest: str
    released: str  # the day of the newest
    yanked: bool  # the pinned one
    faults: tuple[str, ...]  # of the newest


def pins() -> dict[str, str]:
    """What is pinned, and what dev/dependencies.md lists beside it."""
    found = dict(
        re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), flags=re.M)
    )
    plain = {name.lower().replace("_", "-") for name in found}
    return found | {name: "" for name in rows(PAGE.read_text(encoding="utf-8")) if name.replace("_", "-") not in plain}


def rows(page: str) -> dict[str, list[str]]:
    """Package -> the cells of its row in the table of who keeps what."""
    table = page.split("## Who keeps them")[1]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    return {row[0].lower(): row for row in cells if len(row) == COLUMNS and row[0] != "package"}


def ask(address: str, name: str, pinned: str) -> Known:
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(address.replace("NAME", name), timeout=PATIENCE) as answer:
                told = json.load(answer)
            break
        except OSError:
            if not left:
                raise
    days = [file["upload_time"][:10] for file in told["urls"]]
    return Known(
        name=name,
        pinned=pinned,
        newest=told["info"]["version"],
        released=max(days, default="not stated"),
        yanked=any(file.get("yanked") for file in told["releases"].get(pinned, [])),
        faults=tuple(fault["id"] for fault in told["vulnerabilities"] if not fault.get("withdrawn")),
    )


def rewritten(page: str, known: list[Known]) -> str:
    """The page with the newest version and its day in every row."""
    told = {one.name.lower().replace("_", "-"): one for one in known}
    for name, row in rows(page).items():
        one = told[name.replace("_", "-")]
        newest = "the same" if one.newest == row[3].partition(",")[0] else one.newest
        page = page.replace(f"| {' | '.join(row)} |", f"| {' | '.join([*row[:4], newest, one.released])} |")
    return page


def main() -> None:
    ask_for = argparse.ArgumentParser(description=__doc__)
    ask_for.add_argument("address", help="of the JSON of a project, with NAME for its name")
    ask_for.add_argument("--write", action="store_true", help="write what is newest, and since when, into the page")
    given = ask_for.parse_args()
    with ThreadPoolExecutor(4) as pool:
        known = list(pool.map(lambda one: ask(given.address, *one), pins().items()))
    older = [one for one in known if one.pinned and one.pinned != one.newest]
    bad = [one for one in known if one.faults or one.yanked]
    said = [
        f"{one.name}: pinned {one.pinned}, newest {one.newest} of {one.released}: look at its changes" for one in older
    ]
    said += [f"{one.name} {one.newest}: {', '.join(one.faults) or 'the pinned one was taken back'}" for one in bad]
    said += [f"{len(known)} packages, {len(older)} pinned below their newest, {len(bad)} with a known fault"]
    sys.stdout.write("\n".join(said) + "\n")
    if given.write:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), known), encoding="utf-8")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
