"""A voice of Chatterbox: graphs against torch, guidance, sound in pieces, speed, heads that follow the text."""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.serve.test_worker import Bench
from torch import Tensor

from olu.audio.io import to_int16
from olu.core.errors import TextError, VoiceError
from olu.core.job import finish
from olu.core.types import Audio
from olu.export.package import Contents, seal, write_package
from olu.families.chatterbox.codec.s3gen import S3Gen
from olu.families.chatterbox.codec.sizes import HARMONICS, HOP
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.export import VoiceReference, unnormed, write_decoder, write_step, write_voice
from olu.families.chatterbox.heads import KnownClip, follow_rules, found_heads, looks, louds_of, scores_of
from olu.families.chatterbox.model import T3
from olu.families.chatterbox.voice import knobs
from olu.networks.session import open_session, quiet, read_network
from olu.nn.causal import Cache
from olu.nn.step_graph import in_half_blocks
from olu.speak.engines import knob_row
from olu.speak.engines.flow import FlowEngine, SentenceSound, SoundJob
from olu.speak.engines.following import TextFollower, glances, ways_of
from olu.speak.engines.guards import TextGuard
from olu.speak.engines.sampling import Sampler, StopRules
from olu.speak.engines.sines import SineSource
from olu.speak.graphs import GraphCache
from olu.speak.stream import Chunk, ReadLine
from olu.speak.voice import Voice
from olu.text.characters import CharacterFrontend
from olu.text.languages import load
from olu.text.pieces import PieceVocabulary

LETTERS = "abcdefghijklmnopqrstuvwxyz .,?!'\"-"
TEXT = "Habari ya asubuhi, rafiki yangu wa zamani?"
LLAMA = ChatterboxConfig(size="tiny")
TURBO = ChatterboxConfig(
    size="tiny",
    backbone="gpt2",
    prompt_rows=0,
    emotion=False,
    text_bounds=False,
    start_twice=False,
    unconditional=0.0,
    guidance=0.0,
    min_p=0.0,
    top_k=40,
    top_p=0.95,
    meanflow=True,
)
CONFIGS = {"llama": LLAMA, "gpt2": TURBO}


def vocabulary() -> PieceVocabulary:
    return PieceVocabulary.learn([LETTERS, "habari ya asubuhi asubuhi"], merges=4, tag="sw")


def networks(config: ChatterboxConfig) -> tuple[T3, S3Gen]:
    torch.manual_seed(0)
    t3, s3gen = T3(config, vocab_size=vocabulary().size).eval(), S3Gen(config).eval()
    with torch.no_grad():
        for value in t3.parameters():
            value.add_(0.1 * torch.randn(value.shape))
        for value in s3gen.parameters():
            value.add_(0.03 * torch.randn(value.shape))
        t3.speech_head.weight[config.stop_code] -= 0.5
        s3gen.mel2wav.conv_post.bias[:9] -= 1.5
        s3gen.mel2wav.f0_predictor.classifier.bias.fill_(120.0)
    return t3, s3gen


def references(config: ChatterboxConfig, t3: T3, s3gen: S3Gen) -> list[VoiceReference]:
    random, made = torch.Generator().manual_seed(1), []
    for codes in (10, 12):
        prompt = torch.randint(0, config.codes, (1, 20 if config.prompt_rows else 2 * codes), generator=random)
        vector = torch.rand(1, config.voice_width, generator=random)
        speaker = s3gen.flow.speaker(torch.randn(1, 24, generator=random))[0]
        mel = torch.randn(2 * codes, 80, generator=random)
        held = torch.randint(0, config.codes, (codes,), generator=random)
        made.append(VoiceReference(t3.condition(vector, prompt)[0].detach(), held, mel, speaker.detach()))
    return made


@cache
def traced(meanflow: bool) -> Path:
    """The graphs of the decoder, which take longer to trace than all else: once for all voices."""
    folder = Path(tempfile.mkdtemp())
    _, s3gen = networks(TURBO if meanflow else LLAMA)
    write_decoder(s3gen.flow, s3gen.mel2wav, folder)
    return folder


def packed(path: Path, config: ChatterboxConfig, *, bits: int = 8, follow: Any = None, **more: Any) -> Voice:
    t3, s3gen = networks(config)
    held = Contents(
        name="test",
        family="chatterbox",
        language=load("swa"),
        frontend=CharacterFrontend("swa", inventory=LETTERS),
        vocabulary=vocabulary(),
        speakers=["ada", "obi"],
        sentences=["Habari ya asubuhi."],
        scores={},
        facts={"run": "none"},
    )

    def graphs(folder: Path) -> dict[str, Any]:
        rules = {"least": 0.5, "most": 3.0, "usual": 1.5}
        given = {"references": references(config, t3, s3gen), "rules": rules, "bits": bits, "follow": follow}
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(
                "olu.families.chatterbox.export.write_decoder",
                lambda flow, hift, to: shutil.copytree(traced(flow.sizes.meanflow), to, dirs_exist_ok=True),
            )
            facts = write_voice(t3, s3gen.flow, s3gen.mel2wav, folder, **given, **more)  # type: ignore[arg-type]
        return {**facts, "engine": "flow", "knobs": {one.name: knob_row(one) for one in knobs(config)}}

    return finish(write_package(path, held, graphs=graphs))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("chatterbox")
    follow = {"heads": [[0, 1], [1, 2]], "speeds": [], "tail": 3, "linger": 1000, "patience": 1.5}
    made = {"llama": root / "llama.voice", "gpt2": root / "gpt2.voice", "follows": root / "follows.voice"}
    packed(made["llama"], LLAMA)
    packed(made["gpt2"], TURBO)
    packed(made["follows"], LLAMA, bits=32, follow={**follow, "speeds": [1.0, 0.5, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01]})
    return made


def opened(folder: Path) -> Voice:
    return Voice.open(folder, threads=1)


def engine_of(voice: Voice) -> FlowEngine:
    assert isinstance(voice.engine, FlowEngine)
    return voice.engine


# ---------------------------------------------------------------- graphs


class Stepper:
    def __init__(self, path: Path, config: ChatterboxConfig, *, shared: bool, rows: int) -> None:
        self.session = open_session(read_network(path), quiet(1))
        shape = [rows, config.heads, 64 if shared else 0, config.width // config.heads]
        names = [one.name for one in self.session.get_inputs() if one.name.startswith("past")]
        self.past = {name: np.zeros(shape, np.float32) for name in names}
        self.outputs, self.shared, self.length = [one.name for one in self.session.get_outputs()], shared, 0

    def run(self, rows: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        self.length += rows.shape[1]
        told: dict[str, Any] = {}
        if self.shared:
            told = {"seqlens_k": np.full(len(rows), self.length - 1, np.int32)}
            told["total_sequence_length"] = np.array(self.length, np.int32)
        made = dict(zip(self.outputs, self.session.run(None, {"rows": rows, **told, **self.past}), strict=True))
        self.past = {name: made[name.replace("past", "present", 1)] for name in self.past}
        return made


@torch.no_grad()
def compared(t3: T3, path: Path, *, shared: bool) -> tuple[float, float]:
    """The largest difference of logits from torch, by the largest, and how well they go together."""
    torch.manual_seed(2)
    count = 2 if shared else 1
    rows = torch.randn(count, 24, t3.config.width) * 0.5
    places = t3.tfmr.wpe.weight[:24].numpy() if t3.config.backbone == "gpt2" else np.zeros((24, 1), np.float32)  # type: ignore[union-attr]
    cache, stepper, worst = Cache(), Stepper(path, t3.config, shared=shared, rows=count), 0.0
    alike = list[float]()
    for first, last in [(0, 9), *((at, at + 1) for at in range(9, 24))]:
        logits = t3.speech_head(t3.hidden(rows[:, first:last], cache=cache)[:, -1:])[..., : t3.config.stop_code + 1]
        made = stepper.run(rows[:, first:last].numpy() + places[first:last])
        worst = max(worst, float(np.abs(made["logits"] - logits.numpy()).max()) / float(logits.abs().max()))
        alike.append(float(np.corrcoef(made["logits"].ravel(), logits.numpy().ravel())[0, 1]))
    return worst, min(alike)


@pytest.mark.parametrize("backbone", ["llama", "gpt2"])
@pytest.mark.parametrize(
    ("bits", "shared", "allowed", "together"),
    [(32, True, 1e-4, 1.0), (32, False, 1e-4, 1.0), (16, True, 5e-3, 1.0), (8, True, 0.1, 0.995), (4, True, 1.0, 0.8)],
)
def test_the_step_graph_is_the_transformer(
    tmp_path: Path, backbone: str, bits: int, shared: bool, allowed: float, together: float
) -> None:
    t3, _ = networks(CONFIGS[backbone])
    write_step(t3, tmp_path / "step.onnx", bits=bits, shared=shared)
    apart, alike = compared(t3, tmp_path / "step.onnx", shared=shared)
    assert apart < allowed and alike >= together - 1e-4


def test_four_bits_keep_the_largest_of_every_block() -> None:
    matrix = np.random.default_rng(0).standard_normal((64, 3)).astype(np.float32)
    packed_bytes, scales = in_half_blocks(matrix)
    low, high = packed_bytes & 15, packed_bytes >> 4
    levels = np.stack([low, high], -1).reshape(3, 2, 32).astype(np.float32) - 8
    back = (levels * scales.reshape(3, 2, 1)).reshape(3, 64).T
    assert packed_bytes.shape == (3, 2, 16) and np.abs(back - matrix).max() < np.abs(matrix).max() / 7
    largest = np.abs(matrix).argmax(0)
    np.testing.assert_allclose(back[largest, range(3)], matrix[largest, range(3)], rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("backbone", ["llama", "gpt2"])
def test_the_graphs_of_the_decoder_are_its_networks(tmp_path: Path, backbone: str) -> None:
    _, s3gen = networks(CONFIGS[backbone])
    flow, hift, sizes = s3gen.flow, s3gen.mel2wav, s3gen.flow.sizes
    write_decoder(flow, hift, tmp_path)
    torch.manual_seed(3)
    frames, codes = 31, torch.randint(0, 81, (1, 17))
    mel, mean, known = (torch.randn(2, 80, frames) for _ in range(3))
    speaker, times = torch.randn(2, 80), (torch.tensor([0.2, 0.2]), torch.tensor([0.7, 0.7]))[: 1 + sizes.meanflow]
    given = dict(zip(("time", "until"), times, strict=False)) | {"mel": mel, "mean": mean, "known": known}
    source = 0.1 * torch.randn(1, frames * HOP)
    asked: dict[str, tuple[dict[str, Tensor], Tensor]] = {
        "flow_encoder": ({"codes": codes}, flow.mean(codes)),
        "flow_step": ({**given, "speaker": speaker}, flow.decoder.estimator(mel, mean, speaker, known, *times)),
        "pitch": ({"mel": mel[:1]}, hift.f0_predictor(mel[:1])),
        "vocoder": ({"mel": mel[:1], "source": source}, hift.filtered(mel[:1], source)),
    }
    for name, (feeds, wanted) in asked.items():
        session = open_session(read_network(tmp_path / f"{name}.onnx"), quiet(1))
        (made,) = session.run(None, {key: value.numpy() for key, value in feeds.items()})
        assert made.shape == wanted.shape and float(wanted.std()) > 1e-4, name
        assert np.abs(made - wanted.numpy()).max() <= 1e-4 * max(1.0, float(wanted.abs().max())), name
    assert torch.allclose(unnormed(hift).filtered(mel[:1], source), asked["vocoder"][1], atol=1e-5)


@torch.no_grad()
def test_the_source_in_numpy_is_the_one_in_torch() -> None:
    _, s3gen = networks(LLAMA)
    mixer = s3gen.mel2wav.m_source
    weights = torch.cat([mixer.l_linear.weight[0], mixer.l_linear.bias]).numpy().astype(np.float64)
    pitch = np.array([0.0, 5.0, 110.0, 140.5, 200.0], np.float32)
    source = SineSource(24000, HOP, weights, np.random.default_rng(4))
    made, turns = source.made(pitch, first=0)
    noise = source._drawn(0, 5).T[None].astype(np.float32)
    phases = torch.from_numpy(source.phases.astype(np.float32))[None]
    wanted = mixer(torch.from_numpy(pitch)[None], phases, torch.from_numpy(noise.copy()))
    assert noise.shape == (1, HARMONICS, 5 * HOP)
    np.testing.assert_allclose(made, wanted[0].numpy(), atol=1e-4)
    begin, source.turns = source.made(pitch[:2], first=0)
    rest, last = source.made(pitch[2:], first=2)
    np.testing.assert_allclose(np.concatenate([begin, rest]), made, atol=1e-6)
    assert last == pytest.approx(turns)


# ---------------------------------------------------------------- codes


@torch.no_grad()
def by_torch(
    t3: T3, voice: Voice, ids: list[int], *, speaker: int, guidance: float, exaggeration: float, penalty: float
) -> list[int]:
    """The likeliest codes as published: two rows, the second without its text, and the penalty on all that was said."""
    c, cache = t3.config, Cache()
    stored = torch.from_numpy(np.array(engine_of(voice).writer.prompt[speaker], np.float32))
    rows = stored[: engine_of(voice).writer._prompt_rows[speaker]]
    if c.emotion:
        emotion = t3.cond_enc.emotion_adv_fc(torch.tensor([[exaggeration]]))  # type: ignore[misc]
        rows = torch.cat([rows[:-1], emotion])
    around = torch.tensor([[c.text_start, *ids, c.text_stop]] if c.text_bounds else [ids])
    count = 2 if guidance else 1
    dropped = torch.tensor([False, True][:count])
    begun = t3.begun(rows[None].expand(count, -1, -1), around.expand(count, -1), dropped)
    hidden, codes = t3.hidden(begun, cache=cache), list[int]()
    while True:
        logits = t3.speech_head(hidden[:, -1]).numpy()
        told = logits[0] + guidance * (logits[0] - logits[1]) if guidance else logits[0]
        seen = np.unique([c.start_code, *codes])
        told[seen] = np.where(told[seen] > 0, told[seen] / penalty, told[seen] * penalty)
        told[[c.start_code, *range(c.stop_code + 1, c.speech_ids)]] = -np.inf
        if len(codes) < max(1, int(0.5 * len(ids))):
            told[c.stop_code] = -np.inf
        code = int(told.argmax())
        if code == c.stop_code or len(codes) >= 3 * len(ids) + 25:
            return codes
        codes.append(code)
        hidden = t3.hidden(t3.speech_rows(torch.full((count, 1), code), first=len(codes)), cache=cache)


@pytest.mark.parametrize(("backbone", "guidance"), [("llama", 0.5), ("llama", 0.0), ("gpt2", 0.0)])
def test_codes_are_those_of_torch(tmp_path: Path, backbone: str, guidance: float) -> None:
    config = CONFIGS[backbone]
    voice = packed(tmp_path / "x.voice", config, bits=32)
    engine, (t3, _) = engine_of(voice), networks(config)
    ids = voice.vocabulary.encode(voice.frontend.read(TEXT))
    knobs = {"temperature": 0.0, "repetition_penalty": 1.3}
    rules = StopRules(**{**vars(engine.writer.rules), "tries": 1, "repeat": 0})
    run = engine.writer.begun(
        ids, 1, Sampler.of(knobs, np.random.default_rng(0)), rules, guidance=guidance, exaggeration=0.9
    )
    while not run.over:
        engine.run([Chunk("codes", 1.0, run)])
    wanted = by_torch(t3, voice, ids, speaker=1, guidance=guidance, exaggeration=0.9, penalty=1.3)
    assert run.codes == wanted and len(wanted) > 8 and max(wanted) < config.codes


def test_sentences_with_guidance_go_through_together(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    voice = opened(folders["follows"])
    engine, batches = engine_of(voice), list[int]()
    rules = StopRules(**{**vars(engine.writer.rules), "tries": 1, "repeat": 0})
    ids = [voice.vocabulary.encode(voice.frontend.read(text)) for text in ("habari.", TEXT, "habari ya asubuhi.")]

    def begun() -> list[Any]:
        knobs = {"temperature": 0.8}
        samplers = [Sampler.of(knobs, np.random.default_rng(seed)) for seed in range(3)]
        told = zip(ids, samplers, (0.5, 0.0, 1.0), strict=True)
        return [engine.writer.begun(one, 0, sampler, rules, guidance=w) for one, sampler, w in told]

    alone, together = begun(), begun()
    for run in alone:
        while not run.over:
            engine.run([Chunk("codes", 1.0, run)])
    kept = GraphCache.run
    monkeypatch.setattr(
        GraphCache, "run", lambda self, rows, each: (batches.append(len(rows)), kept(self, rows, each))[1]
    )
    while live := [run for run in together if not run.over]:
        engine.run([Chunk("codes", 1.0, run) for run in live])
    assert max(batches) == 5  # two rows where there is guidance
    for one, other in zip(alone, together, strict=True):
        assert one.codes == other.codes
        assert one.follower.places == other.follower.places


def test_min_p_and_a_late_penalty() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.1, 0.06, 0.04], np.float32))
    plain = {"temperature": 1.0, "min_p": 0.15}
    order, chances = Sampler.of(plain, np.random.default_rng(0)).chances(logits, [])
    assert order.tolist() == [0, 1, 2] and chances == pytest.approx(np.array([5, 3, 1]) / 9)
    late = {"temperature": 1.0, "top_k": 2, "repetition_penalty": 5.0}
    order, _ = Sampler.of(late, np.random.default_rng(0), penalty_last=True).chances(logits, [0])
    assert order.tolist() == [1, 0]
    order, _ = Sampler.of(late, np.random.default_rng(0)).chances(logits, [0])
    assert order.tolist() == [1, 2]
    short = {"temperature": 1.0, "repetition_penalty": 50.0, "penalty_window": 1}
    order, _ = Sampler.of(short, np.random.default_rng(0)).chances(logits, [0, 3])
    assert order[0] == 0, "what lies further back than the window is not punished"


def test_a_loop_has_to_fill_its_time() -> None:
    rules = StopRules(0.0, 9.0, repeat=2, shortest_loop=1, longest_loop=12, loop_codes=38)
    assert rules.looped([1, 2, 3] + [7] * 37) == 0 and rules.looped([1, 2, 3] + [7] * 38) == 1
    assert rules.looped([7, 8] * 18) == 0 and rules.looped([7, 8] * 19) == 2
    assert rules.looped(list(range(12)) * 4) == 12


# ---------------------------------------------------------------- the voice


def test_a_stop_waits_for_its_floor_and_equal_codes_end_nothing(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The public program had two equal codes end a sentence; here as many as a second of them do not."""
    writer, barred = engine_of(opened(folders["llama"])).writer, list[bool]()

    def drawn(self: Sampler, logits: Any, before: Any, never: Any = ()) -> int:
        barred.append(LLAMA.stop_code in never)
        return 7 if barred[-1] or len(barred) <= 25 else LLAMA.stop_code

    monkeypatch.setattr(Sampler, "draw", drawn)
    run = writer.begun([*range(4, 24)], 0, Sampler.of({}, np.random.default_rng(0)), writer.rules)
    while not run.over:
        writer.advance([run])
    assert barred == [True] * 10 + [False] * 16, "half a code for each of 20 letters, then it may stop"
    assert run.codes == [7] * 25 and not run.failed and not run.fault


def test_a_sentence_has_room_for_forty_seconds_at_most_and_is_cut_before(folders: dict[str, Path]) -> None:
    writer = engine_of(opened(folders["llama"])).writer
    assert writer._most_codes * writer.code_seconds <= 40.0
    text = ", ".join(["habari ya asubuhi rafiki yangu wa zamani sana"] * 3) + "."
    heard = [piece.sentence.text for piece in opened(folders["llama"]).stream(text, quick=False) if piece.sentence]
    assert len(heard) > 1 and all(len(one) <= LLAMA.most_text for one in heard)


@pytest.mark.parametrize("backbone", ["llama", "gpt2"])
def test_it_speaks_and_five_equal_calls_are_equal(folders: dict[str, Path], backbone: str) -> None:
    voice = opened(folders[backbone])
    first = voice.speak(TEXT, seed=3).samples
    assert voice.rate == 24000 and len(first) > 4000 and np.isfinite(first).all() and np.abs(first).max() > 1e-3
    for _ in range(4):
        np.testing.assert_array_equal(voice.speak(TEXT, seed=3).samples, first)
    other = voice.speak(TEXT, seed=4).samples
    assert len(other) != len(first) or not np.array_equal(other, first)
    assert not np.array_equal(voice.speak(TEXT, seed=3, speaker="obi").samples[:4000], first[:4000])


def test_short_texts_are_said_and_signs_alone_are_refused(folders: dict[str, Path]) -> None:
    voice = opened(folders["llama"])
    for text in ("a", "ndiyo", "A!"):
        assert len(voice.speak(text).samples) > 0
    with pytest.raises(TextError, match="nothing in the text can be said"):
        voice.speak("... !?")


def test_every_knob_acts_and_those_that_would_not_are_refused(folders: dict[str, Path]) -> None:
    voice, turbo = opened(folders["llama"]), opened(folders["gpt2"])
    usual = voice.speak(TEXT).samples
    changed = {"temperature": 0.1, "guidance": 3.0, "exaggeration": 1.9, "repetition_penalty": 9.0, "top_k": 2}
    for name, value in {**changed, "top_p": 0.2, "min_p": 0.9}.items():
        made = voice.speak(TEXT, knobs={name: value}).samples
        assert len(made) != len(usual) or not np.array_equal(made, usual), name
    for name in ("guidance", "exaggeration", "noise"):
        with pytest.raises(VoiceError, match=f"the voice test has no knob '{name}'"):
            turbo.speak(TEXT, knobs={name: 0.5})


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.3, 2.0])
def test_speed_stretches_time(folders: dict[str, Path], speed: float) -> None:
    voice = opened(folders["llama"])
    usual = len(voice.speak(TEXT, knobs={"guards": 0.0}).samples)
    made = voice.speak(TEXT, speed=speed, knobs={"guards": 0.0}).samples
    assert len(made) == round(usual / speed)
    pieces = [one.audio.samples for one in voice.stream(TEXT, speed=speed, quick=False, knobs={"guards": 0.0})]
    np.testing.assert_array_equal(np.concatenate(pieces), made)
    with pytest.raises(VoiceError, match=r"speed 2.5 is out of reach for this voice: choose 0.5 to 2"):
        voice.speak(TEXT, speed=2.5)


def long_run(voice: Voice, codes: int) -> list[int]:
    return [int(one) for one in np.random.default_rng(5).integers(0, 81, codes)]


@pytest.mark.parametrize("cuts", [[30], [26, 60, 110], [40, 41, 42, 100]])
def test_pieces_of_a_sentence_have_the_samples_of_the_whole(folders: dict[str, Path], cuts: list[int]) -> None:
    """Where frames do not look at each other, pieces are the whole to a rounding; else they are as long as it."""
    engine = engine_of(opened(folders["llama"]))
    codes = tuple(long_run(opened(folders["llama"]), 120))

    def sound() -> Any:
        reference = engine._references[0]
        sines = SineSource(24000, HOP, engine._sines, np.random.default_rng(2))
        nothing = np.zeros((80, 0), np.float32)
        return SentenceSound(reference, np.random.default_rng(1), sines, nothing, np.zeros(0, np.float32))

    def said(given: Any, *places: int) -> list[NDArray[np.float32]]:
        parts = [engine._sound(SoundJob(given, codes[:cut], False)) for cut in places]
        return [*parts, engine._sound(SoundJob(given, codes, True))]

    whole = said(sound())[0]
    assert len(whole) == len(codes) * 2 * HOP
    pieces = said(sound(), *cuts)
    assert sum(map(len, pieces)) == len(whole)
    engine._mel = lambda job: _local_mel(job)  # type: ignore[method-assign]
    whole, pieces = said(sound())[0], said(sound(), *cuts)
    joined = np.concatenate(pieces)
    assert len(joined) == len(whole) and len(pieces[0]) > 0
    assert np.abs(joined - whole).max() < 1e-3 * np.abs(whole).max()


def _local_mel(job: SoundJob) -> NDArray[np.float32]:
    codes = job.codes if job.last else job.codes[:-3]
    rows = [np.random.default_rng(code).standard_normal((80, 2)).astype(np.float32) for code in codes]
    return np.concatenate(rows, axis=1)


def test_a_hurried_listener_hears_as_many_samples(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    voice = opened(folders["llama"])
    planted = long_run(voice, 110)
    monkeypatch.setattr(
        Sampler, "draw", lambda self, logits, before, never: [*planted, LLAMA.stop_code][len(before) - 1]
    )
    text = "habari ya asubuhi rafiki yangu wa zamani sana."
    whole = voice.speak(text).samples
    pieces = [one.audio.samples for one in voice.stream(text)]
    assert len(pieces) >= 3 and sum(map(len, pieces)) == len(whole)
    assert len(pieces[0]) <= 24000
    for at in np.cumsum([len(one) for one in pieces])[:-1]:  # no click where they join
        joined = np.concatenate(pieces)
        assert np.abs(np.diff(joined[at - 2 : at + 2])).max() <= 4 * np.abs(np.diff(joined)).max() / 4 + 1e-6


@pytest.mark.parametrize(("name", "codes"), [("llama", 25), ("llama", 50), ("gpt2", 25)])
def test_a_sentence_of_whole_seconds_of_codes_is_said(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, name: str, codes: int
) -> None:
    """Noise is drawn by the second, and none of it is left then."""
    voice = opened(folders[name])
    config, planted, seen = CONFIGS[name], long_run(voice, codes), len(voice.facts["seen_codes"])
    said = [*planted, config.stop_code]
    monkeypatch.setattr(Sampler, "draw", lambda self, logits, before, never: said[len(before) - seen])
    closing = len(voice.facts["closing_codes"])
    assert len(voice.speak("habari ya asubuhi rafiki yangu.", knobs={"guards": 0.0}).samples) == (codes + closing) * 960


def test_a_sentence_without_an_end_gets_its_plain_one() -> None:
    """Amharic also ends with signs of two characters, and with one that asks."""
    ends, row = list(load("amh").sentence_ends), {"short_words": 0, "short_temperature": 2.0}
    for letters, wanted in (("ሰላም ።፧:.", "።"), ("ሰላም ፧:.", "."), ("ሰላም ፧:", "")):
        held = PieceVocabulary.learn([letters], tag="am")
        guard = TextGuard.of(row, held, ends=ends)
        assert guard is not None
        asked = guard.of_line(ReadLine("ሰላም", None, ids=tuple(held.encode_text("ሰላም"))), {})
        assert held.decode(asked.ids) == f"ሰላም{wanted}"
        assert bool(asked.notes) == bool(wanted)


# ---------------------------------------------------------------- heads


def test_a_head_that_walks_is_found() -> None:
    """One that looks all the time, and one that glances where a letter begins; not one that looks everywhere alike, or
    walks back."""
    n, t = 40, 10
    at, place = np.arange(n), np.arange(n) * t // n
    walk = np.full((4, n, t), 0.004)
    walk[0, at, place] = 0.9
    walk[1, at[:: n // t], place[:: n // t]] = 0.5
    walk[2] = 0.3 / t
    walk[3, at, place[::-1]] = 0.9
    scores = scores_of(walk, louds_of(walk))
    assert min(scores[:2]) > 0.9 and max(scores[2:]) < 0.25, scores


@torch.no_grad()
@pytest.mark.parametrize("backbone", ["llama", "gpt2"])
def test_looks_are_the_attention_of_the_transformer(backbone: str) -> None:
    config = CONFIGS[backbone]
    t3, _ = networks(config)
    torch.manual_seed(6)
    clip = KnownClip(
        torch.randn(5, config.width), torch.randint(0, vocabulary().size, (9,)), torch.randint(0, 81, (12,))
    )
    found = looks(t3, clip)
    assert len(found) == config.layers and found[0].shape == (config.heads, 13, 9)
    assert all(float(one.sum(-1).max()) <= 1 + 1e-5 for one in found)
    assert found_heads(t3, [clip]) == [] and follow_rules(t3, [clip]) is None, "random heads walk nowhere"


def test_followed_places_are_those_of_the_whole_attention(tmp_path: Path) -> None:
    """Queries of the graph with keys of its cache, against attention by torch."""
    t3, _ = networks(LLAMA)
    from olu.nn.causal import Llama, rope_speeds

    assert isinstance(t3.tfmr, Llama)
    speeds = rope_speeds(t3.tfmr.head_width, t3.tfmr.scale).double().tolist()
    follow = {"heads": [[1, 2]], "louds": [0.05], "speeds": speeds, "tail": 3, "linger": 1000, "patience": 0.0}
    voice = packed(tmp_path / "x.voice", LLAMA, bits=32, follow=follow)
    engine = engine_of(voice)
    ids = voice.vocabulary.encode(voice.frontend.read(TEXT))
    rules = StopRules(**{**vars(engine.writer.rules), "tries": 1, "repeat": 0})
    run = engine.writer.begun(ids, 0, Sampler.of({"temperature": 1.0}, np.random.default_rng(0)), rules)
    while not run.over:
        engine.run([Chunk("codes", 1.0, run)])
    assert run.follower is not None
    condition = torch.from_numpy(np.array(engine.writer.prompt[0], np.float32))
    clip = KnownClip(condition, torch.tensor([LLAMA.text_start, *ids, LLAMA.text_stop]), torch.tensor(run.codes))
    looked = looks(t3, clip)[1][2, :, 1:-1].double().numpy()
    wanted = glances(looked, np.array([0.05] * len(looked)))
    heard = len(run.follower.places)
    assert heard >= len(run.codes), "the first code has a place too"
    np.testing.assert_allclose(run.follower.glanced, wanted[:heard], atol=2e-3)
    way = ways_of(wanted[None, :heard])[0]
    firsts = list(range(1, int(way.max()) + 1, 2))
    assert len(firsts) > 2 and run.follower.starts(firsts) == [int(np.searchsorted(way, one)) for one in firsts]


def test_the_way_through_a_text_never_goes_back_and_later_looks_mend_it() -> None:
    """A glance ahead that nothing follows leads nobody astray; a letter begins where it is glanced at."""
    seen = np.zeros((12, 8))
    for code, token in ((0, 0), (3, 1), (5, 2), (8, 3), (10, 5)):
        seen[code, token] = 0.8
    seen[1, 7] = 0.9
    way = ways_of(seen[None])[0]
    assert (np.diff(way) >= 0).all() and way.max() == 5
    assert [int(np.searchsorted(way, token)) for token in (1, 2, 3, 5)] == [3, 5, 8, 10]


def test_words_have_times_by_the_heads(folders: dict[str, Path]) -> None:
    voice = opened(folders["follows"])
    pieces = list(voice.stream("Habari ya asubuhi.", quick=False, seed=1, speed=1.25))
    words = pieces[-1].sentence.words
    assert [one.label for one in words] == ["habari", "ya", "asubuhi"]
    begins = [one.start for one in words]
    assert begins == sorted(begins) and words[-1].end == pytest.approx(pieces[-1].sentence.end)
    assert not list(opened(folders["llama"]).stream("Habari ya asubuhi.", quick=False))[-1].sentence.words


# ---------------------------------------------------------------- many at once


def test_a_worker_steps_several_sentences_together(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TextFollower, "holds", lambda self, codes, usual: codes < 150)
    bench, voice = Bench(folders["follows"], batch=1), opened(folders["follows"])
    long = "habari ya asubuhi rafiki yangu wa zamani " * 3  # of several turns, so that all three are at it at once
    for number in range(3):
        bench.say(number, long, seed=number)
    bench.take_all()
    assert not bench.of("error") and len(bench.of("end")) == 3
    assert max(message["parts"] for message in bench.of("ran")) > 2
    for number in range(3):
        alone = np.concatenate([one.audio.samples for one in voice.stream(long, seed=number)])
        apart = bench.sound(number).astype(int) - to_int16(Audio(alone, voice.rate))
        assert np.abs(apart).max() <= 8, "roundings of a batch, which the vocoder's sines make larger"


# ---------------------------------------------------------------- what is refused


def test_damaged_references_are_one_sentence(folders: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.voice"
    shutil.copytree(folders["gpt2"], path)
    facts = json.loads((path / "voice.json").read_text(encoding="utf-8"))
    (path / "voice.json").write_text(json.dumps({**facts, "reference_codes": [3, 4]}), encoding="utf-8")
    seal(path, [])
    with pytest.raises(VoiceError, match="its references do not fit each other"):
        opened(path)
