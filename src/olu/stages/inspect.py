"""What a file or folder is, what is wrong with it and what to do with it: of every kind that Olu knows."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olu.align.textgrid import decode, parse
from olu.align.textgrid_files import ENDING as GRID
from olu.align.textgrid_files import read_all
from olu.audio.io import SUFFIXES, header
from olu.core.errors import ConfigError, LanguageError, OluError
from olu.core.files import Workspace, disk_bytes, read_json
from olu.core.told import Remedy
from olu.core.types import TONE_LETTERS
from olu.core.words import length, many, size
from olu.corpus.readers import archive, detect
from olu.families.runs import NAMES as KINDS
from olu.families.runs import kind_of
from olu.families.vocoder.base import must_fit
from olu.speak.package import read_outline, voice_place
from olu.stages.bases import check_base
from olu.stages.pack import MANIFEST
from olu.stages.runs import run_detail
from olu.stages.status import status
from olu.stages.verbs.machine import InspectOptions
from olu.stages.verbs.training import RunsOptions
from olu.text.articulation import distance
from olu.text.language_data import Pack
from olu.text.languages import load, resolve
from olu.text.tones import kinds
from olu.train.base_facts import VOCODER
from olu.train.kokoro import CONFIG_NAME, PROCESSOR, KokoroCheckpoint, find_checkpoints, read_kokoro, read_processor
from olu.train.run import Run

WEIGHTS = (".pth", ".pt", ".ckpt", ".safetensors", ".bin")
GRIDS = "textgrids.tar.gz"  # as the Igbo project has them
NEAR = 0.25  # by `align.phonemap`: the same sound under another name
FEW = 4
SORTS = ("sounds", "tones", "marks", "others")
# Of checkpoints of kokoro_training, whatever their weights: read in its code.
BY_ITS_CODE = (
    "by its code, its mel is of power and on the HTK scale, which no HiFi-GAN reads and no vocoder here",
    "by its code, silence was left out of the durations and they were split and merged until their number fitted, so"
    " they sum to a part of the sound",
    "by its code, it speaks from frames that are shifted against those it learnt from: silence, whatever it learnt",
)


@dataclass(frozen=True)
class Inspection:
    """One thing that lies on a disk."""

    path: str
    kind: str
    facts: list[str]
    faults: list[str] = field(default_factory=list)
    next: list[Remedy] = field(default_factory=list)

    def row(self, options: InspectOptions) -> dict[str, Any]:
        own = {"path": self.path, "kind": self.kind, "facts": self.facts, "faults": self.faults}
        return {**own, "next": [one.row() for one in self.next]}

    def sentences(self, options: InspectOptions) -> Iterator[str]:
        yield f"{self.path}: {self.kind}"
        yield from self.facts
        yield from (f"Wrong: {fault}" for fault in self.faults)
        yield from (f"Next: {one}" + (f"  ({one.why})" if one.why else "") for one in self.next)


def run(options: InspectOptions) -> Inspection:
    """`olu inspect`: the first kind that it is."""
    path = voice_place(options.path)
    if not path.exists():
        raise ConfigError(f"{path} is not there: name a file or a folder")
    if path.is_file() and path.name == PROCESSOR:
        return _processor(path, options.language)
    for is_kind, look in LOOKS:
        if is_kind(path):
            return look(path)
    if found := find_checkpoints(path):
        return _kokoro(path, found, options.language)
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        return _sound(path)
    if path.suffix.lower() in WEIGHTS or (path.is_dir() and (path / "config.json").is_file()):
        return _base(path)
    if path.is_dir():
        return _recordings(path)
    raise ConfigError(
        f"{path} is nothing that Olu knows: a workspace, a run, a voice package, a checkpoint, TextGrids, a sound, or a"
        " folder or archive of recordings"
    )


def _workspace(path: Path) -> Inspection:
    found = status(Workspace.open(path))
    facts = [f"{found.language}, {many(found.clips, 'clip')}, {length(found.seconds)}, {many(len(found.runs), 'run')}"]
    return Inspection(str(path), "a workspace", facts, [*found.lost, *found.torn], [found.remedy])


def _run(path: Path) -> Inspection:
    ws, own = path.resolve().parent.parent, Run(path)
    if not (ws / "olu.toml").is_file():
        raise ConfigError(f"{path} is a run outside of a workspace: put it back into the folder runs/ of one")
    if own.fault:
        return Inspection(str(path), "a damaged run", [], [own.fault])
    kind = kind_of(own)
    told = run_detail(Workspace.open(ws), path.resolve().name).sentences(RunsOptions(ws=ws))
    following = [Remedy("export", (ws,), {"run": own.name})] if kind == "voice" and own.checkpoints().steps() else []
    facts = [f"family {own.recipe.family}", *(one for one in told if isinstance(one, str))]
    return Inspection(str(path), f"a run, of {KINDS[kind]}", facts, [], following)


def _voice(path: Path) -> Inspection:
    outline = read_outline(path)
    held = outline.facts
    facts = [
        f"{held.get('name')}: language {held.get('language')}, family {held.get('family')}, engine {outline.engine},"
        f" {held.get('rate')} Hz, {size(disk_bytes(path))}",
        f"speakers: {', '.join(map(str, held.get('speakers') or ['one']))}",
        f"licence: {held.get('licence') or 'not stated'}; schema {outline.schema}; every file is as it was exported",
    ]
    following = Remedy("speak", ("...",), {"voice": path})
    return Inspection(str(path), "a voice package", facts, [], [following])


def _vocoder(path: Path) -> Inspection:
    card, faults = read_json(path / VOCODER), []
    try:
        must_fit(card.get("mel"), whose=str(path))
    except ConfigError as bad:
        faults = [str(bad)]
    facts = [f"{size(disk_bytes(path))}, settings: {card.get('settings')}"]
    following = Remedy("train", ("WS",), {"set": "family=vocoder", "base": path})
    return Inspection(str(path), "a vocoder", facts, faults, [] if faults else [following])


def _grids(path: Path) -> Inspection:
    grids = read_all(path)
    faults, phones, tiers = [], set[str](), set[str]()
    for file, data in grids.items():
        try:
            grid = parse(decode(data, where=file), where=file)
        except OluError as bad:
            faults.append(str(bad))
            continue
        tiers |= {tier.name for tier in grid.tiers}
        named = (tier for tier in grid.tiers if "phone" in tier.name.lower())
        phones |= {label for tier in named for span in tier.intervals if (label := span.label.strip())}
    facts = [f"{many(len(grids), 'TextGrid')}, tiers {', '.join(sorted(tiers))}", f"phones: {' '.join(sorted(phones))}"]
    following = Remedy("align", ("WS",), {"from": path}, why="in a workspace of their recordings")
    return Inspection(str(path), "TextGrids", facts, [*faults[:FEW], *_more(faults)], [following])


def _archive(path: Path) -> Inspection:
    names = archive.names_in(path)
    if any(name.lower().endswith(GRID) for name in names):
        return _grids(path)
    facts = [f"{many(len(names), 'file')}, {size(path.stat().st_size)}"]
    if any(name.endswith(MANIFEST) for name in names):
        return Inspection(str(path), "a packed workspace", facts, [], [Remedy("unpack", (path,))])
    return Inspection(str(path), "an archive", facts, [], [Remedy("import", ("WS", path), why="in a workspace")])


def _sound(path: Path) -> Inspection:
    held = header(path)
    facts = [f"{held.rate} Hz, {many(held.channels, 'channel')}, {length(held.seconds)}"]
    following = Remedy("import", ("WS", path.parent), why="its folder, with the texts")
    return Inspection(str(path), "a sound", facts, [], [following])


def _base(path: Path) -> Inspection:
    checked = check_base(str(path))
    if not checked.good:
        return Inspection(str(path), "a checkpoint that cannot be used", [], checked.said)
    kind = "a VITS checkpoint" if checked.family == "vits" else f"a checkpoint of the family {checked.family}"
    return Inspection(str(path), kind, checked.said, [], [Remedy("train", ("WS",), {"base": path})])


def _recordings(path: Path) -> Inspection:
    layout, why = detect(path)
    following = [Remedy("import", ("WS", path), why="in a workspace of 'olu new WS --language CODE'")]
    grids = next((one for one in (path / GRIDS, path / "TextGrid", path.parent / GRIDS) if one.exists()), None)
    following += [Remedy("align", ("WS",), {"from": grids})] if grids else []
    return Inspection(str(path), f"recordings, layout {layout}", [why], [], following)


def _kokoro(path: Path, found: Sequence[Path], language: str | None) -> Inspection:
    one = read_kokoro(found[0])
    epoch = "" if one.epoch is None else f", epoch {one.epoch + 1}"
    loss = "" if one.loss is None else f", loss {one.loss:.4g}"
    width = tuple(one.weights["text_embedding.weight"].shape)[-1]
    facts = [
        f"{one.config_name or 'without a config'}{epoch}{loss}, {size(one.path.stat().st_size)}",
        f"{one.parameters / 1e6:.1f} M parameters in {len(one.weights)} tensors: width {width},"
        f" {one.layers('transformer_encoder_layers')} encoder and {one.layers('decoder.layers')} decoder layers",
        *_symbols(one.symbols, language or _language_of(one.config_name, one.processor)),
        _mel(one),
    ]
    if len(found) > 1:
        facts.append(f"beside it: {', '.join(other.name for other in found[1 : 1 + FEW])}{_dots(found[1:])}")
    kind = "a checkpoint of kokoro-ruslan" if one.is_ruslan else "a checkpoint of kokoro_training"
    faults = [*_hurt(one), *BY_ITS_CODE[: 1 if one.is_ruslan else None]]
    return Inspection(str(one.path), kind, facts, faults, _instead(one, path))


def _hurt(one: KokoroCheckpoint) -> Iterator[str]:
    bad = one.not_finite
    if not bad:
        return
    listed = ", ".join(f"{name} ({number} of {one.weights[name].numel()})" for name, number in list(bad.items())[:FEW])
    yield f"{many(len(bad), 'tensor')} with numbers that are none: {listed}{_dots(list(bad))}"
    if one.only_postnet:
        yield (
            "only its PostNet is hurt, by a clip that failed and became one masked frame, which BatchNorm keeps for"
            " ever: the model is usable without its PostNet"
        )
    else:
        yield "more than its PostNet is hurt: the model is lost from here on; look at an earlier checkpoint"


def _mel(one: KokoroCheckpoint) -> str:
    held = one.config
    if "sample_rate" not in held:
        return "mel: not known, it has no config"
    bounds = f"{held.get('f_min', 0):g} to {held.get('f_max', 0):g} Hz"
    return (
        f"mel: {held.get('n_mels')} bins, {bounds}, of sound at {held['sample_rate']} Hz, window {held.get('n_fft')},"
        f" hop {held.get('hop_length')}"
    )


def _instead(one: KokoroCheckpoint, path: Path) -> list[Remedy]:
    """From the recordings and TextGrids that it was trained on to a voice."""
    home = path if path.is_dir() else path.parent
    places = [place / GRIDS for place in (home, *home.resolve().parents[:2])]
    grids = next((place for place in places if place.is_file()), Path(GRIDS))
    named = str(one.config.get("data_dir") or "FOLDER")
    recordings = next((place for up in places if (place := up.parent / named).is_dir()), named)
    code = _language_of(one.config_name, one.processor) or "CODE"
    return [
        Remedy("new", ("WS",), {"language": code}, why="no training goes on from these weights: begin with its data"),
        Remedy("import", ("WS", recordings)),
        Remedy("align", ("WS",), {"from": grids}, why="its TextGrids, silence kept"),
        Remedy("train", ("WS",), {"set": "family=acoustic"}),
    ]


def _language_of(config: str, program: str) -> str | None:
    """By the names of its programs: IgboTrainingConfig, igbo_rule_g2p."""
    for name in (config.rpartition(".")[2].removesuffix(CONFIG_NAME), program.partition("_")[0]):
        with suppress(LanguageError):
            return resolve(name)
    return None


def _processor(path: Path, language: str | None) -> Inspection:
    symbols, program = read_processor(path)
    told = _symbols(symbols, language or _language_of("", program))
    return Inspection(str(path), f"the symbols of kokoro_training ({program or 'program unknown'})", list(told))


def _symbols(symbols: Sequence[str], language: str | None) -> Iterator[str]:
    """How many there are of which kind, and which of the sounds a language has here."""
    if not symbols:
        yield f"symbols: not known, no {PROCESSOR} lies beside it"
        return
    counts = Counter(map(_sort_of, symbols))
    yield f"{many(len(symbols), 'symbol')}: {', '.join(f'{counts[sort]} {sort}' for sort in SORTS)}"
    own = load(resolve(language)) if language else None
    if own is None or own.folder is None or "phones.tsv" not in own.files():
        yield "name a language with --language CODE to compare its sounds"
    else:
        sounds = [one for one in symbols if _sort_of(one) == SORTS[0]]
        yield f"{own.name} here has {_known(sounds, Pack.of(own.files()))}"


def _sort_of(symbol: str) -> str:
    if symbol in TONE_LETTERS.values():
        return SORTS[1]
    if all(unicodedata.category(sign)[0] == "P" for sign in symbol):
        return SORTS[2]
    return SORTS[3] if symbol.isspace() or (symbol.startswith("<") and symbol.endswith(">")) else SORTS[0]


def _known(sounds: Sequence[str], pack: Pack) -> str:
    """Which sounds a language has by the same name, and which by another."""
    loans = {row[0] for row in pack.rows("english_phones.tsv", cells=3) if row[2] != row[0]}  # said otherwise here
    ours = kinds(pack, "vowel", "consonant") - loans
    same, renamed = ours & set(sounds), dict[str, str]()
    pairs = sorted((distance(one, other), one, other) for one in set(sounds) - same for other in ours - same)
    for apart, one, other in pairs:
        if apart <= NEAR and one not in renamed and other not in renamed.values():
            renamed[one] = other
    strange = [one for one in sounds if one not in same and one not in renamed]
    told = f"{len(same)} of its sounds by the same name"
    told += f", {len(renamed)} by another ({', '.join(f'{a} is {b}' for a, b in renamed.items())})" if renamed else ""
    return told + (f", and not {' '.join(strange)}" if strange else "")


def _dots(names: Sequence[object]) -> str:
    return f" and {len(names) - FEW} more" if len(names) > FEW else ""


def _more(faults: Sequence[str]) -> list[str]:
    return [f"and {len(faults) - FEW} more"] if len(faults) > FEW else []


def _is_grids(path: Path) -> bool:
    return path.name.lower().endswith(GRID) or (path.is_dir() and any(path.glob("*.TextGrid")))


def _is_voice(path: Path) -> bool:
    zipped = path.suffix == ".zip" and path.is_file()
    return (path / "voice.json").is_file() or (zipped and "voice.json" in archive.names_in(path))


LOOKS: tuple[tuple[Callable[[Path], bool], Callable[[Path], Inspection]], ...] = (
    (lambda path: (path / "olu.toml").is_file(), _workspace),
    (lambda path: (path / "recipe.toml").is_file() and (path / "checkpoints").is_dir(), _run),
    (_is_voice, _voice),
    (lambda path: (path / VOCODER).is_file(), _vocoder),
    (_is_grids, _grids),
    (archive.is_archive, _archive),
)
