# ruff: noqa: E501
"""Lines to read in two ways: a language's own sentences and words, with numbers, dates, money, hours, short forms and
markup put in, and with what goes wrong in texts: marks apart, other scripts, odd spaces, capitals, characters of any kind."""

from __future__ import annotations

import os
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from olu.text.languages import load

SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared"))
GOLD = {
    "ibo": ("igbo_text_fiction.txt", "igbo_text_newtestament.txt"),
    "yor": ("yoruba_toned_news.txt", "yoruba_toned_sentences.txt"),
    "amh": ("amharic_wikipron.tsv", "amharic_numbers.tsv"),
    "swa": ("wikipron_swa_latn_broad.tsv",),
    "spa": ("spanish_wikipron_ca_sample.tsv", "spanish_wikipron_la_sample.tsv"),
}
FILES = ("abbreviations.tsv", "units.tsv", "lexicon.tsv", "english_words.tsv")
SIGNS = [
    "$",
    "€",
    "£",
    "%",
    "‰",
    "°",
    "°C",
    "₦",
    "#",
    "&",
    "+",
    "=",
    "×",
    "/",
    "@",
    "½",
    "¾",
    "²",
    "³",
    "№",
    "…",
    "–",
    "—",
    "«",
    "»",
]
STRANGE = ["\u0301", "\u0323", "\u0307", "\u200d", "\u00ad", "\ufeff", "\u3000", "\x1c", "\x85", "İ", "ı", "ẞ", "ß", "ſ", "ﬁ", "Σ", "ς", "ΟΔΟΣ",
           "א", "ب", "१२", "٣٤", "中文", "🎉", "𝟙𝟚", "𝐀", "\U0001e030", "\U00011d50", "\u0378", "\ue123", "፲፱፻፹፭", "፩", "Ⅻ", "ǆ", "K", "Å", "ꜜ"]  # fmt: skip
PLACES = ["www.example.com/a-b", "ana@example.org", "https://olu.example.net/?q=1", "UNESCO", "BBC", "J. R. Pérez", "U.S.A.", "XIV", "Luis XIV", "5G", "4x4", "3:16-18",
          "<break time='300ms'/>", "<sub alias='ana'>A.</sub>", "<say-as interpret-as='digits'>123</say-as>", "R&D", "a &lt; b", "]]", "<b>"]  # fmt: skip

PLAIN = [
    "Ina kwana? Lafiya lau.",
    "Sunana Musa, ina zaune a Kano.",
    "Yau ranar Juma'a ce; gobe kuma Asabar.",
    "ƙasa, ɗaki, ɓera, 'ya'ya",
]


def lines_of(code: str, count: int, *, seed: int = 0) -> list[str]:
    """So many lines of a language, the same for the same seed."""
    chance = random.Random(f"{code}{seed}")
    texts = [text for text in _texts(code) if text.strip()] or _listed(code) or PLAIN
    words = sorted({word for text in texts for word in text.split()}) or ["a"]
    extra = _listed(code) or words
    found = [text for text in texts if text.strip()]
    chance.shuffle(found)
    found = found[: count // 3]
    while len(found) < count:
        found.append(_made(chance, texts, words, extra))
    return found[:count]


def _texts(code: str) -> Iterator[str]:
    folder = load(code).folder
    if folder is None:  # a language that is read by its letters alone
        yield from PLAIN
        return
    if (folder / "sentences.txt").exists():
        yield from (folder / "sentences.txt").read_text(encoding="utf-8").splitlines()
    for name in GOLD.get(code, ()):
        path = SHARED / "gold" / name
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                yield line.split("\t")[0]
    path = SHARED / "corpora" / code / "metadata.csv"
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield line.split("|")[-1]


def _listed(code: str) -> list[str]:
    folder = load(code).folder
    if folder is None:
        return []
    rows = [
        line
        for name in FILES
        if (folder / name).exists()
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
    ]
    return sorted({line.split("\t")[0] for line in rows if line.strip() and not line.startswith("#")})


def _made(chance: random.Random, texts: list[str], words: list[str], extra: list[str]) -> str:
    base = chance.choice(texts).split() or ["a"]
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(base))
        kind = chance.random()
        if kind < 0.5:
            base.insert(at, _number(chance, extra))
        elif kind < 0.65:
            base.insert(at, chance.choice(extra) + chance.choice(["", ".", " 12", ","]))
        elif kind < 0.75:
            base.insert(at, chance.choice(PLACES))
        elif kind < 0.85:
            base.insert(at, chance.choice(STRANGE))
        else:
            base.insert(
                at,
                chance.choice(words)
                + chance.choice(["", "?", "!", ";", ":", ",", "...", "'", "-" + chance.choice(words)]),
            )
    text = chance.choice([" ", " ", " ", "  ", "\u00a0", "\n"]).join(base)
    return _twisted(chance, text)


def _number(chance: random.Random, extra: list[str]) -> str:
    digits = str(chance.randint(0, 10 ** chance.choice([1, 2, 3, 4, 6, 9, 12, 18, 30])))
    year, month, day = chance.randint(1800, 2100), chance.randint(1, 13), chance.randint(1, 31)
    hour, minute = chance.randint(0, 24), chance.randint(0, 59)
    forms = [
        digits, f"-{digits}", f"{digits}.{chance.randint(0, 999)}", f"{digits},{chance.randint(0, 99)}", f"{int(digits):,}", f"{int(digits):,}".replace(",", "."),
        f"{int(digits):,}".replace(",", " "), f"0{digits}", f"{day}/{month}/{year}", f"{year}-{month:02}-{day:02}", f"{day}.{month}.{year % 100:02}", f"{day} {chance.choice(extra)} {year}",
        f"{hour}:{minute:02}", f"{hour}:{minute:02} {chance.choice(['am', 'p.m.', 'PM', 'h'])}", f"{hour}h{minute:02}", f"{chance.choice(SIGNS)}{digits}", f"{digits}{chance.choice(SIGNS)}",
        f"{digits} {chance.choice(SIGNS)}", f"{digits} {chance.choice(extra)}", f"{digits}{chance.choice(extra)}", f"{chance.choice(extra)} {digits}", f"{chance.randint(1, 9)}/{chance.randint(2, 12)}",
        f"{digits}-{int(digits) + 5}", f"{digits}–{minute}", f"+{digits}", f"0{chance.randint(10**8, 10**9)}", f"{chance.randint(1, 30)}º", f"{chance.randint(1, 30)}.ª", f"{hour}:{minute}-{hour + 2}",
        f"{day}%-{month}%", f"({digits})", f"{digits}.", f"N°{digits}", chance.choice(["IV", "XIX", "VI", "III"]),
    ]  # fmt: skip
    return chance.choice(forms)


def _twisted(chance: random.Random, text: str) -> str:
    kind = chance.random()
    if kind < 0.1:
        return unicodedata.normalize("NFD", text)
    if kind < 0.15:
        return text.upper()
    if kind < 0.2:
        return unicodedata.normalize("NFKD", text)
    if kind < 0.25:
        return text.title()
    if kind < 0.3:
        return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    if kind < 0.38:
        at = chance.randint(0, len(text))
        code = chance.choice(
            [chance.randint(0x20, 0x24F), chance.randint(0x250, 0xD7FF), chance.randint(0xE000, 0x1FFFF)]
        )
        return text[:at] + chr(code) * chance.randint(1, 2) + text[at:]
    return text
