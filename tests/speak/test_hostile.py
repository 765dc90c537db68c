"""Texts that nobody should send: sound, or one clear sentence."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from olu.core.errors import OluError, TextError
from olu.speak.voice import Voice
from olu.text.markup import has_markup

TEXTS = 5000 if os.environ.get("OLU_SOAK") == "1" else 300
PIECES = (
    *("ka", "ọ dị", "mma.", "Kedu?", " ", "\n\n", "\t", "3.5", "1,000,000", "25/12/2024", "₦500", "№", "½", "²", "Ⅳ"),
    *("\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffd", "\ufffe", "\U0010ffff"),
    *("\u200b", "\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\u00ad", "\u034f", "\u061c"),
    *("שלום", "مرحبا", "हिन्दी", "ไทย", "漢字", "한국어", "ሰላም", "ꦗꦮ", "𞤀𞤣𞤤𞤢𞤥", "𝕬𝖇", "ﷺ", "ŉ", "ǅ", "ẞ", "İ", "ı"),
    *("🎉", "👩\u200d👩\u200d👧\u200d👦", "🇳🇬", "👍🏿", "☺\ufe0f", "1\ufe0f\u20e3", "\ud800", "\udfff", "\udc80"),
    *("a" + "\u0301" * 50, "o\u0323\u0301", "\u0301", "\u0e49" * 20, "z\u0335\u0321\u0489"),
    *(
        "<break/>",
        '<break time="300ms"/>',
        '<break time="-1s"/>',
        '<break time="9e9s"/>',
        "<break",
        "<speak>",
        "</speak>",
    ),
    *("<s>", "</s>", "<p>ka</p>", '<sub alias="ka">x</sub>', "<sub>", '<sub alias="">', "<script>alert(1)</script>"),
    *('<phoneme ph="k a">x</phoneme>', '<say-as interpret-as="digits">12</say-as>', "<say-as>", "[[k a]]", "[[", "]]"),
    *("&lt;", "&amp;", "&", "&#0;", "&#x110000;", "<!--", "]]>", "<![CDATA[", "<?xml?>", "<a b=c>", "<1", "< ka >"),
    *(
        "%s%n",
        "../../etc/passwd",
        "${HOME}",
        "';--",
        "\\u0000",
        "{0}",
        "http://a.b/c?d=e&f=g",
        "a@b.c",
        "____",
        "." * 99,
    ),
)


MARKED = [piece for piece in PIECES if has_markup(piece)]
PLAIN = [piece for piece in PIECES if not has_markup(piece)]


def said(voice: Voice, text: str) -> bool:
    """Whether it was said; if not, the sentence why is looked at."""
    try:
        audio = voice.speak(text, speed=4.0)
    except OluError as error:
        assert isinstance(error, TextError)
        assert "\n" not in str(error)
        assert 10 < len(str(error)) < 600
        if not has_markup(text):
            assert not voice.frontend.read(text).words
        return False
    assert np.isfinite(audio.samples).all()
    assert np.abs(audio.samples).max() <= 1.0
    assert len(audio.samples) >= 256
    return True


def test_hostile_texts(voice: Voice) -> None:
    rng, spoken = random.Random(11), 0
    for number in range(TEXTS):
        pieces = [rng.choice(PLAIN) for _ in range(rng.choice((1, 2, 3, 5, 8, 20)))]
        pieces += [rng.choice(MARKED) for _ in range(rng.choice((0, 0, 1, 2)))]
        rng.shuffle(pieces)
        text = "".join(pieces)
        try:
            spoken += said(voice, text)
        except BaseException as bad:
            bad.add_note(f"text {number}: {text!r:.300}")
            raise
    assert 0.2 < spoken / TEXTS < 0.9, "neither all nor nothing of it is said"


WILD = st.text(
    st.one_of(
        st.sampled_from("kaọ\u0301 .?!\n\x00\x1b\u200b\u200f\u202e\ufeffשלוםمرحبا🎉👩\u200d_☺\ud800<>[]&\"'/="),
        st.characters(),
    ),
    max_size=30,
)


@given(WILD)
@example("\x00" * 5 + "ka")
@example("\ud800ka")
@example("\u202eka\u202c 👩‍👩‍👧")
def test_any_text_is_sound_or_one_sentence(voice: Voice, text: str) -> None:
    said(voice, text)


@pytest.mark.parametrize(
    "text",
    [
        "\x00" * 300_000,
        "漢" * 100_000,
        "<" * 300_000,
        "[[" * 500_000,
        "</s>" * 250_000,
        "<s>" * 100_000,
        '<sub alias="' * 80_000,
        "🎉" * 250_000,
        "." * 300_000,
        "\n" * 1_000_000,
        "&amp;" * 60_000,
        "<a b='" + "'\"" * 400_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_much_of_nothing_is_one_sentence(voice: Voice, text: str) -> None:
    text = text * (4 if TEXTS > 300 else 1)  # about a megabyte
    with pytest.raises(TextError) as raised:
        for piece in voice.stream(text, speed=4.0):
            assert np.isfinite(piece.audio.samples).all()
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1000
