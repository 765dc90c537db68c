"""The forms a corpus is written in: tables beside wav files, or the parquet files of a Hugging Face dataset."""

from __future__ import annotations

import csv
import io as streams
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.audio import io
from olu.audio.sink import wav_header
from olu.core.config import did_you_mean
from olu.core.errors import ExportError, MissingExtra
from olu.core.files import write_json, write_text
from olu.core.job import Job, Tick
from olu.core.types import Audio, Split
from olu.export.corpora.subject import SIDES, CorpusClip, CorpusSubject

WAVS = "wavs"
SHARD_BYTES = 400_000_000  # of sound in one parquet file
ROWS = 100  # that are held in memory before they are written
HUB_SIDES: dict[Split, str] = {"train": "train", "valid": "validation", "test": "test"}


Names = dict[str, str]  # speaker -> as the form has the name


@dataclass(frozen=True)
class CorpusForm:
    """How a corpus is written for one program. Without `tables` the sound is not in files of its own."""

    name: str
    read_by: str
    tables: Callable[[CorpusSubject, Path, Names], None] | None
    use: str  # how that program reads it
    files: tuple[str, ...]
    several: bool = True  # whether it has a place for more than one speaker
    bars: bool = True  # whether '|' parts its columns
    foreign: str = r"\|"  # what a speaker's name there cannot have

    def names(self, speakers: Sequence[str]) -> Names:
        """The speakers' names with what has no place there as "_"; each another."""
        names: Names = {}
        for speaker in speakers:
            plain = re.sub(self.foreign, "_", speaker) or "default"
            tries = (plain, *(f"{plain}_{number}" for number in range(2, len(speakers) + 2)))
            names[speaker] = next(one for one in tries if one not in names.values())
        return names

    def notes(self, speakers: Sequence[str]) -> list[str]:
        return [f"the speaker {old!r} is {new!r} there" for old, new in self.names(speakers).items() if old != new]


def form_named(name: str) -> CorpusForm:
    if name not in FORMS:
        known = ", ".join(FORMS)
        raise ExportError(f"cannot export a corpus to {name!r}{did_you_mean(name, FORMS)}; there is: {known}")
    return FORMS[name]


def write_corpus(subject: CorpusSubject, form: CorpusForm, folder: Path) -> Job[None]:
    """The sound, clip by clip, and what tells of it, into a folder that is there."""
    if form.tables is None:
        yield from _parquet(subject, folder)
        return
    (folder / WAVS).mkdir()
    for done, one in enumerate(subject.clips, 1):
        io.write(folder / WAVS / f"{one.name}.wav", subject.audio(one), flush=False)
        yield Tick(done, len(subject.clips), one.name)
    form.tables(subject, folder, form.names(subject.speakers))


# ---- tables beside wav files


def _lines(path: Path, rows: Iterable[Sequence[str]], *, mark: str = "|") -> None:
    """Cells as they stand: their readers part each line at every mark and know no quotes."""
    write_text(path, "".join(f"{mark.join(cells)}\n" for cells in rows))


def _cells(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Cells for Python's csv with '|': one that begins with a quote is put in quotes, and no other is."""
    _lines(path, ([_quoted(cell) for cell in cells] for cells in rows))


def _quoted(cell: str) -> str:
    if not cell.startswith('"'):
        return cell
    out = streams.StringIO()
    csv.writer(out, lineterminator="").writerow([cell])
    return out.getvalue()


def _sides(subject: CorpusSubject) -> Iterator[tuple[Split, list[CorpusClip]]]:
    """The sides that have clips."""
    yield from ((side, clips) for side in SIDES if (clips := subject.side(side)))


def _wav(one: CorpusClip) -> str:
    return f"{WAVS}/{one.name}.wav"


def _ljspeech(subject: CorpusSubject, folder: Path, names: Names) -> None:
    _lines(folder / "metadata.csv", ((one.name, one.text, one.normal) for one in subject.clips))
    for side, clips in _sides(subject):
        _lines(folder / f"metadata_{side}.csv", ((one.name, one.text, one.normal) for one in clips))


def _piper(subject: CorpusSubject, folder: Path, names: Names) -> None:
    several = len(subject.speakers) > 1
    for side, clips in _sides(subject):
        named = ((_wav(one), *([names[one.speaker]] if several else []), one.text) for one in clips)
        _cells(folder / f"metadata_{side}.csv", named)


def _coqui(subject: CorpusSubject, folder: Path, names: Names) -> None:
    header = ("audio_file", "text", "speaker_name")
    for side, clips in _sides(subject):
        name = "eval" if side == "valid" else side
        rows = [(_wav(one), one.text, names[one.speaker]) for one in clips]
        _cells(folder / f"metadata_{name}.csv", [header, *rows])
    write_text(folder / "lang.txt", f"{subject.language.code}\n")


def _vits(subject: CorpusSubject, folder: Path, names: Names) -> None:
    numbers = {speaker: number for number, speaker in enumerate(subject.speakers)}
    (folder / "filelists").mkdir()
    several = len(numbers) > 1
    for side, clips in _sides(subject):
        rows = ((_wav(one), *([str(numbers[one.speaker])] if several else []), one.text) for one in clips)
        _lines(folder / "filelists" / f"{'val' if side == 'valid' else side}.txt", rows)
    write_json(folder / "filelists" / "speakers.json", numbers)


def _kaldi(subject: CorpusSubject, folder: Path, names: Names) -> None:
    """Utterances begin with their speaker, all is in the order of bytes, and no space but ' ': so Kaldi checks it."""
    for side, clips in _sides(subject):
        place = folder / "data" / ("dev" if side == "valid" else side)
        place.mkdir(parents=True)
        said = {f"{names[one.speaker]}-{one.name}": one for one in clips}
        ids = sorted(said, key=str.encode)
        _lines(place / "wav.scp", ((id, _wav(said[id])) for id in ids), mark=" ")
        _lines(place / "text", ((id, " ".join(said[id].text.split())) for id in ids), mark=" ")
        _lines(place / "utt2spk", ((id, names[said[id].speaker]) for id in ids), mark=" ")
        spoken: dict[str, list[str]] = {}
        for id in ids:
            spoken.setdefault(names[said[id].speaker], []).append(id)
        _lines(place / "spk2utt", ((name, *found) for name, found in spoken.items()), mark=" ")


# ---- a Hugging Face dataset


def _parquet(subject: CorpusSubject, folder: Path) -> Job[None]:
    """Sound, text and speaker in rows, in files of a few hundred megabytes, as the datasets library writes them."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("--to hf", extra="hub", package="pyarrow") from None
    (folder / "data").mkdir()
    schema, done = _schema(pa), 0
    for side, clips in _sides(subject):
        shards = list(_shards(clips, rate=subject.rate))
        for number, shard in enumerate(shards):
            path = folder / "data" / f"{HUB_SIDES[side]}-{number:05d}-of-{len(shards):05d}.parquet"
            with parquet.ParquetWriter(path, schema) as out:
                for start in range(0, len(shard), ROWS):
                    rows = []
                    for one in shard[start : start + ROWS]:
                        rows.append(_row(subject, one))
                        done += 1
                        yield Tick(done, len(subject.clips), one.name)
                    out.write_table(pa.Table.from_pylist(rows, schema=schema))


def _shards(clips: Sequence[CorpusClip], *, rate: int) -> Iterator[list[CorpusClip]]:
    shard: list[CorpusClip] = []
    held = 0.0
    for one in clips:
        shard.append(one)
        held += one.clip.seconds * rate * 2
        if held >= SHARD_BYTES:
            yield shard
            shard, held = [], 0.0
    if shard:
        yield shard


def _row(subject: CorpusSubject, one: CorpusClip) -> dict[str, Any]:
    audio = subject.audio(one)
    return {
        "id": one.name,
        "audio": {"bytes": _wav_file(audio), "path": f"{one.name}.wav"},
        "text": one.text,
        "normalized_text": one.normal,
        "speaker": one.speaker,
        "seconds": round(audio.seconds, 3),
    }


def _wav_file(audio: Audio) -> bytes:
    samples = io.to_int16(audio).tobytes()
    return wav_header(audio.rate, len(samples)) + samples


def _schema(pa: Any) -> Any:
    """The columns, with what the datasets library reads of them: that one is sound."""
    kinds = {"id": "string", "text": "string", "normalized_text": "string", "speaker": "string", "seconds": "float64"}
    told: dict[str, Any] = {name: {"dtype": kind, "_type": "Value"} for name, kind in kinds.items()}
    told["audio"] = {"_type": "Audio"}
    fields = {name: getattr(pa, kind)() for name, kind in kinds.items()}
    fields["audio"] = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    order = ("id", "audio", "text", "normalized_text", "speaker", "seconds")
    features = {"info": {"features": {name: told[name] for name in order}}}
    return pa.schema([(name, fields[name]) for name in order], metadata={"huggingface": json.dumps(features)})


FORMS = {
    form.name: form
    for form in (
        CorpusForm(
            "ljspeech",
            "programs that read LJSpeech",
            _ljspeech,
            "`metadata.csv` has `name|text|text with numbers in words` lines; the sound is `wavs/NAME.wav`.",
            (
                "`metadata.csv`: all clips",
                "`metadata_train.csv`, `metadata_valid.csv`, `metadata_test.csv`: the sides, in the same form",
                "`wavs/`: the sound",
            ),
            several=False,
        ),
        CorpusForm(
            "hf",
            "the datasets library",
            None,
            '```python\nfrom datasets import load_dataset\n\ncorpus = load_dataset("PATH OR OWNER/NAME")\n```',
            ("`data/`: parquet files with `id`, `audio`, `text`, `normalized_text`, `speaker` and `seconds`",),
            bars=False,
        ),
        CorpusForm(
            "piper",
            "piper's training",
            _piper,
            "`python3 -m piper.train fit --data.csv_path metadata_train.csv --data.audio_dir .` and the rate of the\n"
            "recordings as `--data.sample_rate`; with several speakers `--data.num_speakers`. Piper takes its own\n"
            "validation clips out of the file it is given.",
            (
                "`metadata_train.csv`, `metadata_valid.csv`, `metadata_test.csv`: `path|text`, or `path|speaker|text`"
                " with several speakers",
                "`wavs/`: the sound",
            ),
            foreign=r"[|\s]",
        ),
        CorpusForm(
            "coqui",
            "Coqui TTS",
            _coqui,
            'A `BaseDatasetConfig` with `formatter="coqui"`, `meta_file_train="metadata_train.csv"` and\n'
            '`meta_file_val="metadata_eval.csv"`; `path` is this folder.',
            (
                "`metadata_train.csv`, `metadata_eval.csv`, `metadata_test.csv`: `audio_file|text|speaker_name`",
                "`lang.txt`: the language",
                "`wavs/`: the sound",
            ),
        ),
        CorpusForm(
            "kaldi",
            "Kaldi and its kin",
            _kaldi,
            "`data/train`, `data/dev` and `data/test` are data folders. Paths in `wav.scp` begin here: run recipes in\n"
            "this folder, or put its path in front of them.",
            ("`data/*/wav.scp`, `text`, `utt2spk`, `spk2utt`", "`wavs/`: the sound"),
            bars=False,
            foreign=r"[^\w.]",  # what sorts before the "-" behind a name, or parts a line
        ),
        CorpusForm(
            "vits",
            "the original VITS",
            _vits,
            "`filelists/train.txt` and `filelists/val.txt` as `training_files` and `validation_files`. Paths begin\n"
            "here: train in this folder, or put its path in front of them. The texts are as written, for its cleaners.",
            (
                "`filelists/train.txt`, `val.txt`, `test.txt`: `path|text`; with several speakers `path|number|text`",
                "`filelists/speakers.json`: the number of each speaker",
                "`wavs/`: the sound",
            ),
        ),
    )
}
