"""A small XTTS from scratch on some languages together, then on one after the other, each from the one before; and what
is understood of it.

    python benchmarks/xtts_small.py OUT --corpus amh=FOLDER swa=FOLDER yor=FOLDER --together 2 --device cuda
    python benchmarks/xtts_small.py OUT --corpus swa=FOLDER --device cpu --size tiny --steps 60 --clips 12  # try

For each language: letters that a recogniser of that corpus gets wrong in recordings, in the same through the codes and
Griffin-Lim (the ceiling of the transformer), in the same through codes, latents that were told them and the decoder,
and in what is said freely, with three seeds; stops that were not found; lengths over the recordings.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.evaluate.metrics.cer import compare
from olu.families.recogniser.recognise import Trained
from olu.families.recogniser.recognise import load as load_recogniser
from olu.families.runs import ready
from olu.families.xtts.config import CODE_SAMPLES, OUT_RATE, RATE
from olu.families.xtts.decoder import frames_of
from olu.families.xtts.scratch import griffin_lim
from olu.families.xtts.spectrum import prompt_mel
from olu.nn.sequence import CODE
from olu.stages.import_ import import_source
from olu.stages.merge import merge
from olu.stages.train import train
from olu.stages.train_setup import set_up
from olu.train.checkpoint import load_averaged
from olu.train.run import Run

SEEDS = 3


def workspace(out: Path, language: str, source: Path) -> Workspace:
    if (out / language / "olu.toml").is_file():
        return Workspace.open(out / language)
    ws = Workspace.create(out / language, language=language)
    finish(import_source(ws, source))
    return ws


def trained(ws: Workspace, *changes: str, base: Path | None = None, device: str) -> Run:
    summary = finish(train(ws, overrides=[*changes, "view.tensorboard=false"], base=base, new=True, device=device))
    return Run.named(ws.runs_folder, summary.run)


def joined(out: Path, parts: list[Workspace]) -> Workspace:
    """One workspace of several languages, each text with its own tag."""
    if len(parts) == 1:
        return parts[0]
    root = out / "-".join(one.language for one in parts)
    ws = Workspace.open(root) if (root / "olu.toml").is_file() else Workspace.create(root, language=parts[0].language)
    finish(merge(ws, [one.root for one in parts], several=True))
    return ws


def ears_of(ws: Workspace, *, device: str) -> Trained | None:
    listener = ready(ws, units="letters", everything=False)
    return load_recogniser(listener, language=ws.language, device=device) if listener else None


def heard(
    ws: Workspace, run: Run, ears: dict[str, Trained | None], *, clips: int, device: str
) -> dict[str, dict[str, float]]:
    """Figures by language; each is listened to by the recogniser of its own corpus."""
    job = set_up(ws, run.recipe, device=device, run=run)
    learner: Any = job.learner
    steps = run.checkpoints().steps()
    load_averaged(learner, run.checkpoints().load(int((run.best or {"step": steps[-1]})["step"])))
    learner.to(device)
    corpus = Corpus.open(ws)
    readings = {clip.id: corpus.reading(clip) for clip in corpus}
    language = {clip.id: clip.language for clip in corpus}
    rows: dict[str, dict[str, list[float]]] = {}
    for clip in job.valid[: clips * len(ears)]:
        listener, row = ears.get(language[clip]), rows.setdefault(language[clip], {})
        batch = learner.collate([job.batches().made(clip, epoch=0)]).to(torch.device(device))
        for name, value in takes(learner, batch):
            if isinstance(value, float):
                row.setdefault(name, []).append(value)
            elif listener is not None:
                expected = "".join(listener.target(readings[clip]))
                rate = compare(expected, spoken=listener.transcribe(value)).letters.rate
                row.setdefault(f"cer {name}", []).append(min(1.0, rate))
    return {code: {name: round(fmean(values), 4) for name, values in row.items()} for code, row in sorted(rows.items())}


@torch.no_grad()
def takes(learner: Any, batch: Any) -> Iterator[tuple[str, Audio | float]]:
    """Sounds and figures of one clip, by name."""
    natural = batch.sounds[0].cpu().numpy()
    yield "natural", Audio(natural, RATE)
    sequences = learner._sequences(batch, ((0, 0),))
    codes = torch.from_numpy(learner._codes_of(batch, 0)).to(learner.mel_stats.device)
    yield "codes", Audio(griffin_lim(learner.dvae.mel(codes[None]), learner.mel_stats)[0].numpy(), RATE)
    prompt = learner.gpt.condition(prompt_mel(batch.middles[0][None], learner.mel_stats))
    told = learner.latents(prompt, sequences)[sequences.kind_BL == CODE]
    voice = learner._voices(batch)

    def sound(latents: torch.Tensor) -> Audio:
        wave = learner.hifigan_decoder.waveform_decoder(frames_of(latents[None].float()), voice)[0]
        return Audio(wave.float().cpu().numpy(), OUT_RATE)

    yield "told the codes", sound(told)
    for seed in range(SEEDS):
        written, latents, stopped = learner.written(batch.ids[0], prompt, most=2 * len(codes) + 20, seed=seed)
        yield "said freely", sound(latents)
        made = griffin_lim(learner.dvae.mel(torch.tensor([written or [0]], device=codes.device)), learner.mel_stats)[0]
        yield "said freely, by its codes", Audio(made.numpy(), RATE)
        yield "stop failures", float(not stopped)
        yield "length ratio", len(written) * CODE_SAMPLES / len(natural)


def main() -> None:
    wish = argparse.ArgumentParser()
    wish.add_argument("out", type=Path)
    wish.add_argument("--corpus", nargs="+", required=True, metavar="CODE=FOLDER")
    wish.add_argument("--device", default="cuda")
    wish.add_argument("--size", default="small", choices=("small", "tiny"))
    wish.add_argument("--together", type=int, default=1, metavar="N", help="the first N corpora are one training")
    wish.add_argument("--steps", type=int, default=24_000, help="of the first training; others have a quarter")
    wish.add_argument("--clips", type=int, default=60, help="that are judged")
    wish.add_argument("--recogniser", action="store_true", help="train one for each corpus first")
    asked = wish.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    base: Path | None = None
    found = []
    alone = [workspace(asked.out, code, Path(source)) for code, _, source in (c.partition("=") for c in asked.corpus)]
    for parts in (alone[: asked.together], *([one] for one in alone[asked.together :])):
        for one in parts if asked.recogniser else ():
            trained(one, "family=recogniser", device=asked.device)
        ws, ears = joined(asked.out, parts), {one.language: ears_of(one, device=asked.device) for one in parts}
        begun, steps = time.monotonic(), asked.steps if base is None else max(4, asked.steps // 4)
        changes = ["family=xtts", f"plan.steps={steps}", f"plan.validate_every={max(1, steps // 12)}"]
        changes += [f"plan.save_every={max(1, steps // 12)}"]
        changes += [f"model.size={asked.size}"] if base is None else [f"model.decoder_from={2 * steps // 3}"]
        run = trained(ws, *changes, base=base, device=asked.device)
        row = {"languages": list(ears), "minutes": round((time.monotonic() - begun) / 60, 1), "steps": steps}
        found.append({**row, **heard(ws, run, ears, clips=asked.clips, device=asked.device)})
        print(json.dumps(found[-1], ensure_ascii=False), flush=True)
        (asked.out / "xtts_small.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        base = run.folder


if __name__ == "__main__":
    main()
