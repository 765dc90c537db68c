"""A small XTTS from scratch on one workspace, then on each further one from the run before; and what they say.

    olu merge BOTH AMH SWA --several-languages        # before: two languages in one workspace, with their tags
    python benchmarks/xtts_small.py OUT BOTH YOR --minutes 9 4 --device cuda
    python benchmarks/xtts_small.py OUT WS --steps 60 --clips 4 --size tiny --device cpu    # whether it runs
    python benchmarks/xtts_small_heard.py OUT/takes-1.zip BOTH --ears amh=AMH swa=SWA       # how it is understood

A workspace is a folder or what `olu pack` made of one. With `--minutes` some steps of each kind are timed first, and as
many are made as fit; the run is saved when the time is over in any case. For every held-out clip OUT/takes-N.zip then
holds the recording, its codes through Griffin-Lim, latents that were told the codes through the decoder, and what is
said freely with three seeds, and once with less to draw from; and OUT/report-N.json what the training came to.
"""

from __future__ import annotations

import argparse
import io
import json
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch
from torch import Tensor

from olu.audio.io import resample
from olu.core.files import Workspace
from olu.core.job import Note, Report, finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.families.xtts.config import OUT_RATE, RATE
from olu.families.xtts.decoder import frames_of
from olu.families.xtts.scratch import griffin_lim
from olu.nn.causal import Cache
from olu.nn.sequence import CODE
from olu.speak.engines.sampling import Sampler
from olu.stages.train import train
from olu.stages.train_setup import set_up
from olu.stages.unpack import unpack
from olu.train.checkpoint import load_averaged
from olu.train.run import Run

SEEDS = 3
CALM = {"temperature": 0.5, "top_k": 20.0, "top_p": 0.8, "repetition_penalty": 2.0}  # less to draw from
SMALL_FILE = 0.95  # of soundfile's scale: some 18 kbit a second
STAGES = ("codes", "gpt", "decoder")
SHARES = (0.12, 0.45, 0.43)  # of the time
LEAST, MOST = (200, 300, 300), (1500, 3000, 6000)  # steps
BASE_SHARES, BASE_MOST = (0.0, 0.55, 0.45), (0, 1500, 3000)  # from a run that has its codes
PROBE, TIMED = (12, 12, 12), 8  # steps of each kind that are made to time them, and the last of these that are timed
SLACK = 0.85  # of the time is planned: checkpoints and validations take some
QUIET = tuple(  # three parts that learn one after the other are no run that drifts
    f"guards.{name}={value}"
    for name, value in {
        "slow_least": 0,
        "drift_factor": 50,
        "spike_factor": 100,
        "overfit_patience": 1000,
        "balance_patience": 100_000,
    }.items()
)


@dataclass(frozen=True)
class Wishes:
    size: str
    device: str
    batch_clips: int
    dropout: float
    rate: float


def opened(place: Path, out: Path) -> Workspace:
    if place.is_file():
        root = out / place.stem
        if not (root / "olu.toml").is_file():
            finish(unpack(place, into=root))
        return Workspace.open(root)
    return Workspace.open(place)


def settings(steps: Sequence[int], wishes: Wishes, *, base: bool, looks: int = 8) -> list[str]:
    """Three parts one after the other, each at its own rate: that of the transformer falls by half three times while it
    learns, and what comes after it begins with eight times its own."""
    codes, gpt, _ = steps
    until, total = codes + gpt, sum(steps)
    falls = [codes + round(share * gpt) for share in (0.6, 0.78, 0.9)]
    changes = [
        "family=xtts",
        f"plan.steps={total}",
        f"plan.batch_clips={wishes.batch_clips}",
        "plan.batch_seconds=480",
        "plan.schedule='milestones'",
        f"plan.milestones={falls}",
        f"plan.warmup_steps={min(until - 1, codes + max(1, gpt // 20))}",
        f"plan.validate_every={max(1, total // looks)}",
        f"plan.save_every={max(1, total // looks)}",
        "plan.keep=1",
        "plan.demo_clips=0",
        "data.valid_clips=96",
        "data.max_seconds=16",
        f"model.dropout={wishes.dropout}",
        f"model.learning_rate={wishes.rate if not base else wishes.rate / 2}",
        "model.weight_decay=0.05",
        f"model.decoder_from={until}",
        "model.decoder_latents=16",
        "model.decoder_learning_rate=1.6e-3",
        "model.discriminator_learning_rate=1.6e-3",
        *QUIET,
    ]
    if wishes.device.startswith("cuda"):
        changes.append("plan.precision='bf16'")
    if base:
        held = ("gpt.gpt", "gpt.conditioning", "gpt.mel_", "gpt.final_norm")
        late = ", ".join(f'"{name}" = {gpt // 12}' for name in held)
        return [*changes, f"plan.late={{{late}}}"]
    own = [f"model.codes_steps={codes}", "model.codes_learning_rate=8e-4"]
    return [*changes, f"model.size='{wishes.size}'", *own]


def trained(
    ws: Workspace, changes: Sequence[str], *, base: Path | None, device: str, hours: float = 0.0
) -> tuple[Run, list[Report]]:
    asked = [*changes, "view.tensorboard=false", *([f"plan.max_hours={hours:.4f}"] if hours else [])]
    reports: list[Report] = []

    job = train(ws, overrides=asked, base=base, new=True, device=device)
    while True:
        try:
            event = next(job)
        except StopIteration as end:
            return Run.named(ws.runs_folder, end.value.run), reports
        if isinstance(event, Note):
            print(event.text, flush=True)
        if isinstance(event, Report):
            reports.append(event)
            for guard, message in event.said():
                print(f"step {event.step}: {guard}: {message}", flush=True)
            if event.scores:
                print(event.step, {name: round(value, 4) for name, value in event.scores.items()}, flush=True)


def paces(ws: Workspace, wishes: Wishes, *, base: Path | None) -> list[float]:
    """Seconds of a step of each kind, as the machine is now."""
    probe = [0 if base and stage == "codes" else steps for stage, steps in zip(STAGES, PROBE, strict=True)]
    if base is None:
        probe[1] += len(Corpus.open(ws)) // wishes.batch_clips  # its first epoch makes the codes of every clip too
    _, reports = trained(ws, settings(probe, wishes, base=base is not None, looks=1), base=base, device=wishes.device)
    found, first = [], 0
    for steps in probe:
        taken = [one.seconds for one in reports[first + max(0, steps - TIMED) : first + steps]]
        found.append(float(np.median(taken)) if taken else 0.0)
        first += steps
    return found


def fitting(minutes: float, found: Sequence[float], *, base: bool) -> list[int]:
    """Steps of each kind that take so long; what one kind needs less of, the decoder gets."""
    shares, most = (BASE_SHARES, BASE_MOST) if base else (SHARES, MOST)
    left, steps = SLACK * 60 * minutes, []
    for at, share in enumerate(shares):
        seconds = left if at == len(shares) - 1 else share * SLACK * 60 * minutes
        wanted = round(seconds / found[at]) if found[at] else 0
        steps.append(0 if share == 0 else max(LEAST[at], min(most[at], wanted)))
        left -= steps[-1] * found[at]
    return steps


# ---------------------------------------------------------------- speaking


@torch.no_grad()
def said_together(
    learner: Any, texts: Sequence[Sequence[int]], prompt_BKD: Tensor, *, most: int, seed: int, knobs: dict[str, float]
) -> list[tuple[list[int], Tensor, bool]]:
    """`XttsLearner.written` for several texts in one go: the ends of shorter ones are hidden from what follows."""
    c, device, cache = learner.config, prompt_BKD.device, Cache()
    samplers = [Sampler.of(knobs, np.random.default_rng([seed, row])) for row in range(len(texts))]
    framed = [[c.text_start, *ids, c.text_stop] for ids in texts]
    longest = max(map(len, framed))
    ids = torch.tensor([one + [c.text_stop] * (longest - len(one)) for one in framed], device=device)
    seen = torch.ones(len(texts), prompt_BKD.shape[1] + longest + 1, dtype=torch.bool, device=device)
    for row, one in enumerate(framed):
        seen[row, prompt_BKD.shape[1] + len(one) : -1] = False
    start = torch.full((len(texts), 1), c.start_code, device=device)
    rows = torch.cat([prompt_BKD, learner.gpt.text_rows(ids), learner.gpt.code_rows(start)], 1)
    codes: list[list[int]] = [[] for _ in texts]
    kept: list[Tensor] = []
    ends = [0] * len(texts)  # latents of a row that has stopped
    most = max(1, min(most, c.most_codes))
    while len(kept) < most and not all(ends):
        latents = learner.gpt.latents(rows, seen_BT=seen, cache=cache)[:, -1]
        kept.append(latents)
        logits = learner.gpt.mel_head(latents).float().cpu().numpy()
        for row, sampler in enumerate(samplers):
            if ends[row]:
                continue
            code = sampler.draw(logits[row], [1, c.start_code, *codes[row]], never=[c.start_code])
            if code == c.stop_code:
                ends[row] = len(kept)
            else:
                codes[row].append(code)
        last = torch.tensor([[one[-1] if one else c.stop_code] for one in codes], device=device)
        rows = learner.gpt.code_rows(last, first=len(kept))
        seen = torch.cat([seen, torch.ones_like(seen[:, :1])], 1)
    held = torch.stack(kept, 1)
    return [(codes[row], held[row, : end or len(kept)], bool(end)) for row, end in enumerate(ends)]


@torch.no_grad()
def takes(learner: Any, batches: Sequence[Any]) -> Iterator[tuple[dict[str, Any], Audio]]:
    """Facts and sound of everything that is said of some clips, each in a batch of its own."""
    device = learner.device
    knobs = {name: float(getattr(learner.config, name)) for name in CALM}
    prompts = [learner._conditioned(batch.middles) for batch in batches]
    voices = [learner._voices(batch) for batch in batches]

    def sound(latents: Tensor, voice: Tensor) -> Audio:
        wave = learner.hifigan_decoder.waveform_decoder(frames_of(latents[None].float()), voice)[0]
        return Audio(wave.float().cpu().numpy(), OUT_RATE)

    def by_codes(codes: Sequence[int]) -> Audio:
        made = griffin_lim(learner.dvae.mel(torch.tensor([list(codes) or [0]], device=device)), learner.mel_stats)[0]
        return Audio(made.cpu().numpy(), RATE)

    number = []
    for batch, prompt, voice in zip(batches, prompts, voices, strict=True):
        fact = {"clip": batch.clips[0]}
        yield {**fact, "kind": "natural"}, Audio(batch.sounds.on(torch.device("cpu"))[0].numpy(), RATE)
        codes = learner._codes_of(batch, 0)
        number.append(len(codes))
        yield {**fact, "kind": "codes"}, by_codes(codes.tolist())
        sequences = learner._sequences(batch, ((0, 0),))
        told = learner.latents(prompt, sequences)[sequences.kind_BL == CODE]
        yield {**fact, "kind": "told the codes"}, sound(told, voice)
    texts, most = [batch.ids[0] for batch in batches], 2 * max(number) + 20
    for manner, seed in [*(("said freely", seed) for seed in range(SEEDS)), ("said calmly", 0)]:
        own = CALM if manner == "said calmly" else knobs
        found = said_together(learner, texts, torch.cat(prompts), most=most, seed=seed, knobs=own)
        for batch, voice, true, (codes, latents, stopped) in zip(batches, voices, number, found, strict=True):
            facts = {"seed": seed, "stopped": stopped and len(codes) <= 2 * true + 20, "length": len(codes) / true}
            latents, codes = latents[: 2 * true + 20], codes[: 2 * true + 20]
            yield {"clip": batch.clips[0], "kind": manner, **facts}, sound(latents, voice)
            if manner == "said freely" and seed == 0:
                yield {"clip": batch.clips[0], "kind": "said freely, by its codes", **facts}, by_codes(codes)


def spoken(ws: Workspace, run: Run, target: Path, *, clips: int, device: str) -> list[dict[str, Any]]:
    """The takes of held-out clips of each language, with their sounds in an archive."""
    job = set_up(ws, run.recipe, device=device, run=run)
    learner: Any = job.learner
    step = run.best_step()
    assert step is not None
    load_averaged(learner, run.checkpoints().load(step))
    learner.to(device)
    language = {clip.id: clip.language for clip in Corpus.open(ws)}
    chosen = [
        clip
        for code in sorted(set(language.values()))
        for clip in [one for one in job.valid if language[one] == code][:clips]
    ]
    made = [learner.collate([job.batches().made(clip, epoch=0)]) for clip in chosen]
    rows = []
    with zipfile.ZipFile(target, "w") as archive:
        for number, (facts, audio) in enumerate(takes(learner, made)):
            held = io.BytesIO()
            wave = resample(audio, OUT_RATE).samples
            soundfile.write(held, wave, OUT_RATE, format="OGG", subtype="OPUS", compression_level=SMALL_FILE)
            rows.append({"file": f"{number:05d}.opus", "language": language[facts["clip"]], **facts})
            archive.writestr(rows[-1]["file"], held.getvalue())
        archive.writestr("index.json", json.dumps(rows, indent=1))
    return rows


def main() -> None:
    wish = argparse.ArgumentParser()
    wish.add_argument("out", type=Path)
    wish.add_argument("workspaces", nargs="+", type=Path)
    wish.add_argument("--device", default="cuda")
    wish.add_argument("--size", default="small", choices=("small", "tiny"))
    wish.add_argument(
        "--minutes",
        nargs="*",
        type=float,
        default=[],
        help="of each training, without what is made ready before; else --steps",
    )
    wish.add_argument("--steps", type=int, default=6000, help="of the first training; others have a third")
    wish.add_argument("--batch-clips", type=int, default=32)
    wish.add_argument("--dropout", type=float, default=0.2)
    wish.add_argument("--rate", type=float, default=4e-4)
    wish.add_argument("--clips", type=int, default=40, help="of each language that are spoken")
    asked = wish.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    wishes = Wishes(asked.size, asked.device, asked.batch_clips, asked.dropout, asked.rate)
    base: Path | None = None
    for number, place in enumerate(asked.workspaces, 1):
        begun, ws, hours = time.monotonic(), opened(place, asked.out), 0.0
        found: list[float] = []
        if number <= len(asked.minutes):
            found = paces(ws, wishes, base=base)
            minutes = asked.minutes[number - 1]
            steps, hours = fitting(minutes, found, base=base is not None), minutes / 60
        else:
            total = asked.steps if base is None else asked.steps // 3
            steps = [round(share * total) for share in (SHARES if base is None else BASE_SHARES)]
        print(f"{place}: seconds a step {found}, steps {steps}", flush=True)
        changes = settings(steps, wishes, base=base is not None)
        run, reports = trained(ws, changes, base=base, device=asked.device, hours=hours)
        learnt = time.monotonic()
        minutes_of = round(sum(one.seconds for one in reports) / 60, 2)
        report = {
            "workspace": ws.name,
            "steps": dict(zip(STAGES, steps, strict=True)),
            "seconds_a_step": dict(zip(STAGES, found, strict=False)),
            "made": reports[-1].step if reports else 0,
            "best": run.best_step(),
            "minutes": minutes_of,
            "minutes with what came before": round((learnt - begun) / 60, 2),
            "memory_gb": round(max((one.memory for one in reports), default=0) / 1e9, 2),
            "scores": [{"step": one.step, **one.scores} for one in reports if one.scores],
            "losses": [{"step": one.step, "parts": one.parts()} for one in reports[:: max(1, len(reports) // 60)]],
        }
        rows = spoken(ws, run, asked.out / f"takes-{number}.zip", clips=asked.clips, device=asked.device)
        report["speaking_minutes"] = round((time.monotonic() - learnt) / 60, 2)
        free = [one for one in rows if one["kind"] == "said freely"]
        report["stop failures"] = sum(not one["stopped"] for one in free) / max(1, len(free))
        report["length"] = float(np.mean([one["length"] for one in free])) if free else None
        (asked.out / f"report-{number}.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print({name: value for name, value in report.items() if name not in ("scores", "losses")}, flush=True)
        base = run.folder


if __name__ == "__main__":
    main()
