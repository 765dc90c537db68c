"""Choose the sentences to record next from texts: those that add most of what the corpus has too little of."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.audit.coverage import count_digits, count_letters, fold, main_scripts, script
from olu.audit.prompts import (
    WEIGHTS,
    Candidate,
    ChosenSentence,
    LeftOut,
    PromptRules,
    SpokenUnit,
    choose,
    covered,
    is_fit,
    units_of,
)
from olu.core.errors import ConfigError, OluError
from olu.core.files import Workspace
from olu.core.job import Job, Tick
from olu.core.told import Remedy, TextTable, Told
from olu.core.words import many
from olu.corpus.manifest import Corpus
from olu.corpus.prompts import LeftOutSentence, RecordingPrompt, prompt_id, prompts_path, read_prompts, write_prompts
from olu.stages.lexicon import reader
from olu.stages.verbs.corpus import PromptsOptions
from olu.text.characters import CharacterFrontend
from olu.text.frontend import AnyFrontend, read_clip
from olu.text.languages import load, traits
from olu.text.words import split_sentences

SHOWN = 5
NEXT = 8  # sentences that an audit names
MOST_NEW = 12  # units named beside a prompt
MAIN_SCRIPT = 0.7  # share of the letters
MOST_SENTENCES = 200_000
EVERY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptsSummary:
    """What `olu prompts` chose, from how many, and what it covers."""

    file: str
    chosen: int
    sentences_found: int
    left_out: dict[str, int]  # why -> sentences
    left_out_first: dict[str, list[str]]  # why -> where, the first few
    corpus: int  # clips that count as recorded
    coverage: dict[str, dict[str, int]]  # kind of unit -> in the corpus, with the prompts, in all sentences
    first: list[str]

    def row(self, options: PromptsOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), **asdict(self)}

    def sentences(self, options: PromptsOptions) -> Iterator[Told]:
        yield f"{many(self.chosen, 'prompt')} of {many(self.sentences_found, 'sentence')}, in {self.file}"
        for why, count in self.left_out.items():
            yield f"left out, {why}: {many(count, 'sentence')}, such as {'; '.join(self.left_out_first[why])}"
        names = {"phone": "phones", "pair": "pairs of phones", "tone": "tones", "tones": "pairs of tones"}
        rows = [
            [title, *(f"{self.coverage[kind][where]:,}" for where in ("corpus", "prompts", "texts"))]
            for kind, title in names.items()
            if self.coverage[kind]["texts"]
        ]
        yield TextTable(["different", "in the corpus", "and with the prompts", "and with all sentences"], rows)
        yield "The first to record:"
        yield from (f"  {text}" for text in self.first)
        yield f"Next: {Remedy('studio')}, and a link for the speaker; or record them elsewhere and import them."


def run(options: PromptsOptions) -> Job[PromptsSummary]:
    """`olu prompts`"""
    ws = Workspace.open(options.ws)
    if not options.texts:
        raise ConfigError("name the texts to choose from: --from texts.txt, one sentence a line or running text")
    lines = [line for path in options.texts for line in _lines(path)]
    return make_prompts(ws, lines, count=options.count, longest=options.longest)


def make_prompts(ws: Workspace, lines: Sequence[tuple[str, str]], *, count: int, longest: int) -> Job[PromptsSummary]:
    """Choose and write. `lines`: where each stands, and what it says."""
    language = load(ws.language)
    found = [(where, one) for where, line in lines for one in split_sentences(line, language.sentence_ends, plain=True)]
    if not found:
        raise ConfigError("the texts hold no sentence: give some in the language of the workspace")
    if len(found) > MOST_SENTENCES:
        raise ConfigError(f"the texts hold {len(found):,} sentences: give {MOST_SENTENCES:,} at most")
    yield Tick(0, len(found), "reading the corpus")
    frontend = prompt_reader(ws)
    recorded, have = corpus_units(ws, frontend)
    rules = rules_of(frontend, [text for _, text in found], longest=longest)
    candidates, left_out = list[Candidate](), list[LeftOutSentence]()
    seen = set[str]()
    for number, (where, text) in enumerate(found, 1):
        fit = _candidate(text, frontend, rules, seen=seen, recorded=recorded)
        if isinstance(fit, Candidate):
            candidates.append(fit)
        else:
            left_out.append(LeftOutSentence(where=where, text=text, why=fit[0], what=fit[1]))
        if number % EVERY == 0:
            yield Tick(number, len(found), "reading sentences")
    if not candidates:
        why = Counter(one.why for one in left_out).most_common(1)[0][0]
        raise ConfigError(f"no sentence is left to choose from; most were left out as {why!r}: give other texts")
    chosen = choose(candidates, count=count, have=have)
    write_prompts(ws, map(_prompt, chosen), left_out)
    yield Tick(len(found), len(found), "choosing")
    return _summary(ws, chosen, candidates, left_out, have, found=len(found), recorded=len(recorded))


def _candidate(
    text: str, frontend: AnyFrontend, rules: PromptRules, *, seen: set[str], recorded: Collection[str]
) -> Candidate | tuple[LeftOut, str]:
    wrong = is_fit(text, letters=count_letters(text), digits=count_digits(text) > 0, rules=rules)
    if wrong is not None:
        return wrong
    same = fold(text)
    if same in recorded:
        return "recorded already", ""
    if same in seen:
        return "twice", ""
    seen.add(same)
    reading, broken = read_clip(frontend, text)
    if broken or reading.dropped or not reading.words:
        return "cannot be read", broken or " ".join(reading.dropped) or "nothing to say"
    return Candidate(text=" ".join(text.split()), units=units_of(reading))


def _prompt(one: ChosenSentence) -> RecordingPrompt:
    new = tuple(unit.shown() for unit in one.new if unit.kind != "length")[:MOST_NEW]
    return RecordingPrompt(id=prompt_id(one.candidate.text), text=one.candidate.text, new=new)


def _summary(
    ws: Workspace,
    chosen: Sequence[ChosenSentence],
    candidates: Sequence[Candidate],
    left_out: Sequence[LeftOutSentence],
    have: Counter[SpokenUnit],
    *,
    found: int,
    recorded: int,
) -> PromptsSummary:
    reasons = Counter(one.why for one in left_out)
    first = {
        why: [f"{one.where}{f' ({one.what})' if one.what else ''}" for one in left_out if one.why == why][:SHOWN]
        for why in reasons
    }
    parts = {
        "corpus": [have],
        "prompts": [have, *(one.candidate.units for one in chosen)],
        "texts": [have, *(one.units for one in candidates)],
    }
    return PromptsSummary(
        file=str(prompts_path(ws)),
        chosen=len(chosen),
        sentences_found=found,
        left_out=dict(reasons.most_common()),
        left_out_first=first,
        corpus=recorded,
        coverage={kind: {name: covered(units, kind) for name, units in parts.items()} for kind in WEIGHTS},
        first=[one.candidate.text for one in chosen[:SHOWN]],
    )


# ---- what the language and the corpus say


def prompt_reader(ws: Workspace) -> AnyFrontend:
    """How the workspace reads; by letters, also those that the corpus does not have yet."""
    frontend = reader(ws)
    return frontend.unlimited() if isinstance(frontend, CharacterFrontend) else frontend


def corpus_units(ws: Workspace, frontend: AnyFrontend) -> tuple[set[str], Counter[SpokenUnit]]:
    """The texts that were recorded, and how often their units occur. What a person dropped is not there."""
    have: Counter[SpokenUnit] = Counter()
    recorded = set[str]()
    if not (ws.corpus / "clips.jsonl").exists():
        return recorded, have
    corpus = Corpus.open(ws)
    for clip in corpus:
        if clip.transcribed and clip.language == ws.language and corpus.is_wanted(clip):
            recorded.add(fold(clip.text))
            have.update(units_of(read_clip(frontend, clip.text)[0]))
    return recorded, have


def rules_of(frontend: AnyFrontend, texts: Iterable[str], *, longest: int) -> PromptRules:
    """A letter is foreign that is of another script than most, that the language's own list does not have, or that it
    has for names and loans alone."""
    main = main_scripts((("", text) for text in texts), least=MAIN_SCRIPT).get("", "")
    listed = [row[0] for row in frontend.pack.rows("letters.tsv")] if frontend.pack else []
    own = {unicodedata.normalize("NFD", one.casefold()) for one in listed}
    return PromptRules(longest=longest, letters=_foreign(main, own, loans=set(traits(frontend.language).loan_letters)))


def _foreign(main: str, own: Collection[str], *, loans: Collection[str]) -> Callable[[str], list[str]]:
    """What finds the foreign letters of a text. A letter may be written by several, as ch: they are looked at first."""
    letters = "|".join(map(re.escape, sorted(own, key=lambda one: (-len(one), one))))
    pattern = re.compile(f"{letters}|." if letters else ".", re.DOTALL)

    def is_foreign(letter: str) -> bool:
        if not any(map(str.isalpha, letter)):
            return False
        if main and any(script(one) not in ("", main) for one in letter):
            return True
        return bool(own) and (letter not in own or letter in loans)

    def found(text: str) -> list[str]:
        plain = unicodedata.normalize("NFD", text.casefold())
        return sorted({letter for letter in pattern.findall(plain) if is_foreign(letter)})

    return found


def _lines(path: Path) -> list[tuple[str, str]]:
    if not path.is_file():
        raise ConfigError(f"{path} is not there: name a text file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8: save it as that") from None
    except OSError as bad:
        raise ConfigError(f"{path} cannot be read ({bad.strerror})") from None
    return [(f"{path.name} line {number}", line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def record_next(ws: Workspace, *, count: int = NEXT) -> list[str]:
    """What to record next: the first prompts that the corpus does not have; where there are none, the best of the
    sentences that come with the language. Nothing where neither can be read."""
    try:
        frontend = prompt_reader(ws)
        recorded, have = corpus_units(ws, frontend)
        waiting = [one.text for one in read_prompts(ws) if fold(one.text) not in recorded]
        if waiting:
            return waiting[:count]
        own = load(ws.language).sentences()
        rules = rules_of(frontend, own, longest=1000)
        seen = set[str]()
        made = [_candidate(text, frontend, rules, seen=seen, recorded=recorded) for text in own]
        held = [one for one in made if isinstance(one, Candidate)]
        return [one.candidate.text for one in choose(held, count=count, have=have)]
    except OluError:
        return []
