"""What a voice may be given away as, from the licences of its recordings and of its base, and from who agreed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olu.core.errors import ExportError
from olu.corpus.rights import NOT_STATED, Answer, Rights
from olu.train.base_facts import NON_COMMERCIAL, Licence

SHARE_ALIKE = re.compile(r"share[-\s]?alike|(?<![a-z])sa(?![a-z])|gpl", re.I)
NAMING = re.compile(
    r"(?<![a-z0-9])(cc[-\s]?by|mit(?!-0)|apache|bsd|isc)(?![a-z])|(?<!no )attribution(?![-\s]free)", re.I
)
NO_NAMING = re.compile(r"cc[-\s]?0|cc[-\s]?zero|unlicen[cs]e|public[-\s]?domain|0bsd|wtfpl|pddl|mit-0", re.I)
NO_DERIVATIVES = re.compile(r"no[-\s]?deriv|(?<![a-z])nd(?![a-z])", re.I)
RESTRICTED = re.compile(
    r"(research|academic|education(al)?|scientific|personal|private|evaluation|internal|study)([-\s](use|purposes?))?"
    r"[-\s]only|(only|solely) for (\w+ )?(research|academic|education|scien|personal|private|evaluation)|"
    r"for (research|academic|educational|scientific|personal|private) (use|purposes?)|not for (re)?distribution|"
    r"no redistribution|confidential|proprietary",
    re.I,
)
RESERVED = re.compile(r"all rights? (are )?reserved|todos los derechos|tous droits|haki zote", re.I)
CLEAR = "write agreed = true or agreed = false beside it in olu.toml [rights]"
ASK = "ask whoever made this checkpoint"  # it has no olu.toml to write anything in
REASON = "if you hold the rights, add --override-licence 'the reason'"
BASE = "the base"
OF_THE_BASE = "a matter of the base; what is said here is of these recordings"
PATTERNS = (NON_COMMERCIAL, SHARE_ALIKE, NO_DERIVATIVES, NAMING, NO_NAMING, RESTRICTED, RESERVED)


@dataclass(frozen=True)
class Terms:
    non_commercial: bool
    share_alike: bool
    no_derivatives: bool
    naming: bool  # whoever made it must be named
    no_naming: bool  # nobody must
    restricted: bool  # for some use only, such as research
    reserved: bool  # nothing is allowed without asking; a licence that is named beside it is what holds

    @staticmethod
    def of(licence: str) -> Terms:
        found = [bool(pattern.search(licence)) for pattern in PATTERNS]
        named = any(pattern.search(licence) for pattern in (NAMING, NO_NAMING, SHARE_ALIKE))
        found[-1] = found[-1] and not named
        return Terms(*found)

    @property
    def strictness(self) -> int:
        forbids = 16 * (self.reserved or self.restricted)
        return forbids + 8 * self.no_derivatives + 4 * self.non_commercial + 2 * self.share_alike + self.naming


@dataclass(frozen=True)
class LicensedPart:
    """Something a voice was made from, and the licence it came under."""

    what: str  # "the recordings 'radio'", "the base facebook/mms-tts-amh"
    licence: str
    credits: str = ""
    base: bool = False  # beside recordings; alone it is the voice itself


@dataclass(frozen=True)
class ExportTerms:
    """What an export says of itself: the licence, why it may differ from what its parts allow, and the rest."""

    licence: str
    consent: str
    credits: str
    source: str
    parts: tuple[LicensedPart, ...]
    override: str = ""
    answer: Answer = ""  # of the speakers of all sources together
    foreign: bool = False  # of a bare checkpoint, which has no olu.toml
    made: str = "voice"  # what is given away

    def facts(self) -> dict[str, Any]:
        """What voice.json keeps."""
        made = {"licence": self.licence or None, "consent": self.consent or None, "credits": self.credits or None}
        return {
            **made,
            "rights": {
                "source": self.source,
                "parts": [_kept(p) for p in self.parts],
                "override": self.override,
                "agreed": "yes" if self.answer == "yes" else "",
            },
        }

    def lines(self) -> list[str]:
        """For a card."""
        said = [f"- Licence: {self.licence or self._unstated()}"]
        said += [f"- Licence of {part.what}: {part.licence or _ask_of(part)}" for part in self.parts]
        said += [f"- Consent of the speakers: {self._consent()}"]
        said += [f"- Consent of the speakers of {part.what}: {OF_THE_BASE}" for part in self.parts if part.base]
        said += [f"- Credits: {' '.join(self.credits.split())}"] if self.credits else []
        said += [f"- Recordings from: {self.source}"] if self.source else []
        differs = bool(contradiction(self.licence, list(self.parts), made=self.made))
        why = "The licence differs from what its parts say; the reason given" if differs else "The reason given for it"
        said += [f"- {why}: {self.override}"] if self.override else []
        return said

    def _unstated(self) -> str:
        """A voice is under no licence that one of its parts does not give, whatever the others say."""
        silent = [part for part in self.parts if not part.licence]
        return _ask_of(silent[0]) if silent else NOT_STATED

    def _consent(self) -> str:
        if self.answer == "unclear":
            return f"{self.consent} (whether that is a yes is not clear)"
        return self.consent or ("given" if self.answer == "yes" else NOT_STATED)

    def notes(self) -> list[str]:
        """What a person should know before giving it away."""
        said = [f"the licence of {part.what} is not stated" for part in self.parts if not part.licence]
        if not self.answer:
            how = ASK if self.foreign else "write it in olu.toml [rights]"
            said.append(f"no consent of the speakers is stated: {how} before you publish this {self.made}")
        elif self.answer == "unclear":
            said.append(f"{_unclear(self.consent)}: {ASK if self.foreign else CLEAR}")
        return said


def claim(
    recordings: dict[str, Rights],
    base: Licence | None,
    *,
    base_name: str = "",
    licence: str = "",
    override: str = "",
    names: Mapping[str, str] | None = None,
    beside: Mapping[str, Licence] | None = None,
    made: str = "voice",
) -> ExportTerms:
    """The licence asked for, or all that hold; one that contradicts its parts is refused unless a reason is given.

    `names`: what people call each source. `beside`: the bases of other runs that the voice is made of. `made`: what is
    given away, where it is no voice.
    """
    parts = [
        LicensedPart(f"the recordings {_known_as(name, names)}", rights.licence) for name, rights in recordings.items()
    ]
    bases = ({base_name: base} if base is not None else {}) | dict(beside or {})
    for called, one in bases.items():
        parts.append(LicensedPart(f"{BASE} {called}", one.name, one.credits, base=bool(recordings)))
    parts.sort(key=lambda part: -Terms.of(part.licence).strictness)
    if override and not licence:
        raise ExportError("--override-licence gives the reason for a licence: name it with --licence")
    if licence and not override:
        if wrong := contradiction(licence, parts, made=made):
            raise ExportError(f"{wrong}; without --licence all that hold are named; {REASON}")
        _check_stated(licence, parts, made=made)
    for name, rights in recordings.items():
        check_consent(rights, of=f"the recordings {_known_as(name, names)}", made=made)
    return ExportTerms(
        licence=licence or _all_that_hold(parts),
        answer=_answer_of_all(recordings),
        foreign=not recordings,
        consent=_joined(recordings, "consent"),
        credits=_each_once(_joined(recordings, "credits"), *(one.credits for one in bases.values())),
        source=_joined(recordings, "source"),
        parts=tuple(parts),
        override=override,
        made=made,
    )


def check_consent(rights: Rights, *, of: str, foreign: bool = False, made: str = "voice") -> None:
    """Refuse an export where the speakers said no."""
    if rights.answer == "no":
        told = f"agreed = false, consent = {rights.consent!r}" if rights.agreed else f"consent = {rights.consent!r}"
        how = ASK if foreign else "say so in olu.toml [rights] with agreed = true"
        raise ExportError(
            f"the speakers of {of} did not agree ({told}): no {made} is made of them; if that has changed, or the words"
            f" mean a yes, {how}"
        )


def _answer_of_all(recordings: Mapping[str, Rights]) -> Answer:
    """The weakest answer on consent of all sources: no, silence, unclear, yes."""
    said: set[Answer] = {rights.answer for rights in recordings.values()} or {""}
    order: tuple[Answer, ...] = ("no", "", "unclear", "yes")
    return min(said, key=order.index)


def _check_stated(licence: str, parts: list[LicensedPart], *, made: str) -> None:
    """Refuse a licence where a part states none that it could fit."""
    for part in parts:
        if not part.licence:
            how = "" if part.what.startswith(BASE) else "state it as licence in olu.toml [rights]; "
            raise ExportError(
                f"the licence of {part.what} is not stated: ask whoever made {part.what} whether the {made} can be"
                f" {licence}; {how}{REASON}"
            )


def _ask_of(part: LicensedPart) -> str:
    return f"{NOT_STATED}: ask whoever made {part.what}"


def _known_as(name: str, names: Mapping[str, str] | None) -> str:
    known = (names or {}).get(name)
    return repr(known) if known else name


def _unclear(consent: str) -> str:
    return f"whether the speakers agreed is not clear from consent = {consent!r}"


def contradiction(licence: str, parts: list[LicensedPart], *, made: str = "voice") -> str:
    """Why a licence cannot be given, or nothing."""
    asked = Terms.of(licence)
    for part in parts:
        held = Terms.of(part.licence)
        if licence.strip().casefold() == part.licence.strip().casefold() and not held.no_derivatives:
            continue
        reasons = (
            (held.reserved, "allows nothing without asking", ""),
            (held.restricted and not asked.restricted, "does not allow every use", ""),
            (held.no_derivatives, "allows nothing made from it", ""),
            (held.non_commercial and not asked.non_commercial, "is non-commercial", ""),
            (held.share_alike and not asked.share_alike, "is share-alike", ""),
            (
                held.naming and asked.no_naming and not asked.naming,
                "demands that whoever made it is named",
                ", which demands nothing",
            ),
        )
        for is_so, why, which in reasons:
            if is_so:
                return f"{part.what}: {part.licence} {why}, so the {made} cannot be {licence}{which}"
    return ""


def check_publishing(held: ExportTerms) -> None:
    """Refuse to publish without consent; a reason for the licence says nothing of that."""
    if not held.answer:
        how = "write who agreed, when and to what as consent in olu.toml [rights]"
        done = ASK if held.foreign else how
        raise ExportError(f"no consent of the speakers is stated, so this {held.made} is not published: {done}")
    if held.answer != "yes":
        how = ASK if held.foreign else CLEAR
        raise ExportError(f"{_unclear(held.consent)}, so this {held.made} is not published: {how}")
    if held.override:
        return
    for part in held.parts:
        terms = Terms.of(part.licence)
        if terms.reserved or terms.no_derivatives:
            raise ExportError(
                f"{part.what}: {part.licence} does not allow to give away what is made from it, so this {held.made} is"
                " not published: ask for another licence, or give --licence with --override-licence 'the reason'"
            )


def _kept(part: LicensedPart) -> dict[str, str]:
    """What voice.json keeps of a part."""
    held = {"what": part.what, "licence": part.licence}
    held |= {"credits": part.credits} if part.credits else {}
    return held | ({"consent": OF_THE_BASE} if part.base else {})


def _all_that_hold(parts: list[LicensedPart]) -> str:
    """Each licence once, the strictest first; nothing where a part states none: the others cannot speak for it.

    A base that was made from another names that one's too.
    """
    if not all(part.licence for part in parts):
        return ""
    named = [one for part in parts for one in _apart(part.licence) if one]
    once = {one.casefold(): one for one in reversed(named)}
    kept = dict.fromkeys(once[one.casefold()] for one in named)
    return " AND ".join(sorted(kept, key=lambda one: -Terms.of(one).strictness))


def _apart(licence: str) -> list[str]:
    return [licence] if "(" in licence or " OR " in licence else licence.split(" AND ")


def _each_once(*credits: str) -> str:
    """Everybody who is to be named; a base that was made from another names that one's people too."""
    names = [name.strip() for one in credits for name in one.split(";")]
    return "; ".join(dict.fromkeys(name for name in names if name))


def _joined(recordings: dict[str, Rights], name: str) -> str:
    """What was said of all sources under this name; of consent nothing, where one source is silent."""
    said = [getattr(rights, name) for rights in recordings.values()]
    if name == "consent" and not all(rights.answer for rights in recordings.values()):
        return ""
    return "; ".join(dict.fromkeys(one for one in said if one))
