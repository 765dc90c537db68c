"""A voice that reads a language it never heard: its subject, with the reading, the texts and what its card says."""

from __future__ import annotations

from dataclasses import replace

from olu.core.errors import ExportError, LanguageError
from olu.export.subject import ExportSubject
from olu.text.accent import own_words, with_accent
from olu.text.characters import CharacterFrontend
from olu.text.languages import Language
from olu.train.run import Run


def spoken_with_accent(subject: ExportSubject, run: Run, language: Language) -> ExportSubject:
    """The subject of a voice that speaks `language` with the sounds of its own."""
    own = subject.language
    if isinstance(subject.frontend, CharacterFrontend):
        raise ExportError(
            f"--accent {own.code}: {run.name} reads letters and has no sounds to lend: train it by phones"
        )
    held = run.document("frontend.json")
    try:
        accent = with_accent(
            language,
            of=own.code,
            vocabulary=subject.vocabulary,
            inventory=held.get("inventory") or (),
            marks=subject.frontend.marks,
        )
    except LanguageError as bad:
        raise ExportError(f"--language {language.code}: {bad}") from None
    told = [f"It never heard {language.name}: it reads it with the sounds of {own.name}", *accent.told()]
    sentences = tuple(language.sentences()) or own_words(accent.frontend)
    replaced = {one: " ".join(by) for one, by in accent.phones.items()}
    return replace(
        subject,
        language=language,
        frontend=accent.frontend,
        texts=sentences,
        held_out=(),
        measures=(f"What was measured of {own.name} says nothing of {language.name}.",),
        scores={},
        data=(*told, *subject.data),
        notes=(*subject.notes, *told),
        facts={**subject.facts, "accent": {"of": own.code, "sounds": replaced, "tones": dict(accent.tones)}},
    )
