"""What people's own words on a consent come to: a plain yes, a plain no, or something to ask about."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Answer = Literal["yes", "no", "unclear", ""]  # nothing: nothing was said

# Without marks and capitals; a word that can mean no only counts as one where it stands alone.
_ALONE = r"no|none|nope|never|nein|non|nao|hapana|la|mba|rara|አይ|አይሆንም|нет"
_NOBODY = r"(nobody|no one|none|neither)( of (\w+ )?\w+)?"
_NO = (
    # English
    r"refus\w*|revok\w*|revoc\w*|denied|denies|deny|withdr[ae]w\w*|declin\w*|rejected|retracted|rescinded|forb[ia]d\w*|"
    r"opted out|(tak\w+|took) (it |\w+ consent )?back|said no|says no|against (her|his|their) (will|wish\w*)|"
    r"(not|\w+n't|never) (yet )?(been )?(agree|consent|allow|permit|give|grant|want|obtain)\w*|never gave|"
    rf"{_NOBODY} (has |have |had )?(agree|consent|allow|permit|gave|given|grant)\w*|"
    r"no (consent|permission|agreement)|without (\w+ )?(consent|permission|agreement)",
    # Spanish and Portuguese
    r"nego|negado|denegad\w*|rechaz\w*|rehus\w*|recus\w*|retirad[oa]|retiro|prohib\w*|dijo que no|disse que nao|"
    r"(no|nao) (dio|da|deu|ha dado|acept\w*|aceit\w*|autoriz\w*|consint\w*|consent\w*|quiere|quiso|quer|quis|esta de"
    r" acuerdo|estuvo de acuerdo|concord\w*)|(sin|sem) (consentimiento|consentimento|permiso|permissao|autorizac\w+)",
    # French
    r"retire[es]?|interdi\w*|a dit non|n'a pas|ne (veut|souhaite|consent|donne) pas|pas d'accord|"
    r"sans (son |leur )?(consentement|accord|autorisation)",
    # German
    r"abgelehnt|verweigert|widerrufen|nicht (einverstanden|zugestimmt|erlaubt)|ohne (einwilligung|zustimmung)",
    # Swahili
    r"(a|wa)(me|li)kata(a|za)|kataa|ha(ku|ja|wa|waku|waja)?kubali\w*|ha(ku|ja|waku|waja)?ruhusu\w*|hataki|hawataki|"
    r"bila (idhini|ruhusa|ridhaa)|ameondoa",
    # Igbo, Yoruba
    r"juru|ekwetaghi|kwetaghi|ko gba|ko fe",
    # Amharic
    r"አልተስማማ\w*|አልፈቀደ\w*|አይደለም|ከልክ\w*|ያለ ፈቃድ",
)
_YES = (
    r"yes|agree\w*|consent(s|ed)?|gave|given|allow\w*|permit\w*|permission|granted|signed|approved|own voice|myself|"
    r"si|acept\w*|autoriz\w*|sim|aceit\w*|oui|accept\w*|autoris\w*|d'accord|ja|einverstanden|zugestimmt|"
    r"ndiyo|(a|wa)(me|li)kubali|(a|wa)(me|li)ruhusu|kwetara|gba|አዎ|ተስማም\w*|ፈቅ\w*"
)
_DOUBT = (
    r"\?|unknown|unclear|pending|maybe|perhaps|probably|presumably|assumed?|implied|not sure|unsure|not yet|yet to|"
    r"to be (asked|done|agreed|obtained|signed|confirmed|requested|sought|given|got|checked|clarified)|"
    r"to ask|must ask|unasked|unsigned|(not|\w+n't|never) (been )?(ask|sign)\w*|"
    rf"{_NOBODY} (has |have |was |were )?(been )?(ask|sign)\w*|"
    r"tbd|todo|not stated|not known|n/?a|waiting|will (ask|sign|agree|be asked)|ask (her|him|them)"
)

# A refusal that did not happen is no refusal; whether it is a yes, only a person can tell.
_REFUSAL = (
    r"(refus|revok|revoc|den[iy]|withdr[ae]w|declin|reject|retract|rescind|object|rechaz|rehus|recus|abgelehnt)\w*"
)
_NO_REFUSAL = (
    rf"({_NOBODY}|not|never|\w+n't|nadie|ninguno|ninguem|personne|niemand|keiner)"
    rf" (has |have |had |was |were |ever |yet |been |ha |n'a |hat )*({_REFUSAL}|said no|opted out)"
)

ALONE = re.compile(rf"\W*({_ALONE})\W*")
NO_REFUSAL = re.compile(rf"(?<!\w)({_NO_REFUSAL})(?!\w)")
NO = re.compile(rf"(?<!\w)({'|'.join(_NO)})(?!\w)")
YES = re.compile(rf"(?<!\w)({_YES})(?!\w)")
DOUBT = re.compile(rf"(?<!\w)({_DOUBT})")
YEAR = re.compile(r"(?<!\d)(1[0-9]|20)\d\d(?!\d)")  # who and when: the question it answers is who agreed


def answer(words: str) -> Answer:
    """A no is never taken for a yes; what is neither is unclear."""
    plain = _plain(words)
    if not plain:
        return ""
    rest, unrefused = NO_REFUSAL.subn(" ", plain)
    if ALONE.fullmatch(plain) or NO.search(rest):
        return "no"
    if unrefused or DOUBT.search(plain):
        return "unclear"
    return "yes" if YES.search(plain) or YEAR.search(plain) else "unclear"


def _plain(words: str) -> str:
    """Small letters without their marks, straight apostrophes, single spaces."""
    apart = unicodedata.normalize("NFKD", words.casefold().replace("’", "'"))
    return " ".join("".join(letter for letter in apart if not unicodedata.combining(letter)).split())
