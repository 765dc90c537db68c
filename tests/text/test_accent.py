"""Which sounds stand in for those that a voice never learnt."""

from __future__ import annotations

import pytest

from olu.core.errors import LanguageError
from olu.text.accent import Accent, apart, nearest, with_accent
from olu.text.frontend import for_language, from_state
from olu.text.languages import load
from olu.text.phones import PhoneFrontend
from olu.text.vocabulary import StreamVocabulary

BREAKS = ("_", ".", ",", "?", "!")


def accent(*codes: str) -> Accent:
    learnt = [for_language(load(code)) for code in codes]
    sounds = sorted({phone for one in learnt if isinstance(one, PhoneFrontend) for phone in one.phones})
    marked = [phone + tone for phone in sounds for tone in ("˥", "˧", "˩")] if "yor" in codes else []
    vocabulary = StreamVocabulary([*BREAKS, *sounds, "<yor>"])
    return with_accent(load("ibo"), of=codes[0], vocabulary=vocabulary, inventory=[*sounds, *marked], marks="vowel")


@pytest.mark.parametrize(
    ("phone", "sounds", "by"),
    [
        ("kʷ", "k w a", "k w"),
        ("ŋʷ", "ɲ n w", "ɲ w"),
        ("ɡ͡b", "ɡ b k", "ɡ b"),
        ("ɲ", "n j a", "n j"),
        ("ɹ", "n l ɾ d", "ɾ"),
        ("ɪ", "i a u p", "i"),
        ("ʊ", "o a i", "o"),
        ("m̩", "m n a", "m"),
        ("ɣ", "ɡ z a", "ɡ"),
        ("v", "f z t", "f"),
        ("t͡ʃ", "t s ʃ", "t ʃ"),
        ("d͡ʒ", "d t͡ʃ z", "t͡ʃ"),
    ],
)
def test_the_nearest_sound_by_articulation(phone: str, sounds: str, by: str) -> None:
    assert " ".join(nearest(phone, sounds.split())) == by


def test_a_vowel_is_never_a_consonant_and_the_nose_counts() -> None:
    assert apart("ɪ", "e") < apart("ɪ", "j") and apart("ɹ", "l") < apart("ɹ", "n") and apart("p", "b") < apart("p", "k")


def test_igbo_with_the_sounds_of_yoruba_alone_and_with_swahili_beside() -> None:
    alone, beside = accent("yor"), accent("yor", "swa")
    assert alone.phones["n̩"] == ("n",) and alone.phones["ɲ"] == ("n", "j") and alone.tones == {"D": "M"}
    assert set(beside.phones) == {"kʷ", "ŋʷ", "ɹ"} and not beside.lost_tones
    reading = alone.frontend.read("Ńnà ḿ nyèrè ákwà.")
    assert [word.phones for word in reading.words] == [
        ("n", "n", "a"),
        ("m̩",),
        ("n", "j", "e", "ɾ", "e"),
        ("a", "k", "w", "a"),
    ]
    assert reading.words[0].tones == ("H", "L") and not reading.dropped
    again = from_state(alone.frontend.state())
    assert again.read("Ńnà ḿ nyèrè ákwà.") == reading


def test_what_a_voice_without_tones_loses_is_told() -> None:
    swahili = accent("swa")
    assert swahili.lost_tones == ("H", "L", "D") and any(
        "not heard: high, low, downstep" in one for one in swahili.told()
    )
    assert all(not word.tones for word in swahili.frontend.read("ákwà").words)


def test_a_downstep_is_said_as_mid() -> None:
    heard = accent("yor").frontend.read("[[a˥ k aꜜ]]").words[0]
    assert heard.tones == ("H", "M")


def test_a_voice_of_letters_and_a_language_of_letters_are_refused() -> None:
    with pytest.raises(LanguageError, match="no phone of Igbo"):
        with_accent(load("ibo"), of="amh", vocabulary=StreamVocabulary([*BREAKS, "ሀ"]), inventory=[], marks="none")
    with pytest.raises(LanguageError):
        with_accent(load("deu"), of="amh", vocabulary=StreamVocabulary([*BREAKS, "a"]), inventory=[], marks="none")
