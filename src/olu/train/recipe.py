"""The recipe of a run: its hyperparameters as people write them in TOML, strict and with every default visible."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from olu.core.config import Strict, check, read_toml, with_overrides
from olu.core.places import named

RESAMPLE = (0.8, 1.25)  # beyond them speech does not stay clean


MOST_SEED = 2**63 - 1
MOST_ACCUMULATED = 1024  # more is a slip of the hand: one step would take hours
EVEN = -23.0  # LUFS that plans of voices bring every clip to
AUGMENT = "augment_"
PACKAGED = ".vocoder"  # how the folder of a vocoder alone is called


class DataSettings(Strict):
    min_seconds: float = Field(0.6, ge=0)  # shorter clips are left out, by name
    max_seconds: float = Field(20.0, gt=0)  # longer ones too: never cut on one side
    leave_out_errors: bool = True  # clips the audit marked as errors
    max_tokens: int = Field(0, ge=0)  # clips whose text makes more, blanks included, are left out; 0: no limit
    train_clips: int = Field(0, ge=0)  # at most so many train, the first ones; 0: all
    valid_clips: int = Field(32, ge=1)  # at most so many are used for validation
    speakers: list[str] = Field(default_factory=list)  # only these, in training and in validation; empty: all
    hold_back: float = Field(
        0.0, ge=0, le=0.5
    )  # share of the training side, by hash, validated with; 0: the valid side
    everything: bool = False  # learn from every side, also from those kept for validation and for testing
    resample: float = Field(1.0, ge=RESAMPLE[0], le=RESAMPLE[1])  # pitch and formants times this: nobody's own
    edges: float = Field(0.0, ge=0, le=5)  # most seconds of silence at either end of a clip; 0: as it is
    loudness: float = Field(0.0, ge=-60, le=0)  # LUFS that every clip is brought to; 0: as it is
    pauses: float = Field(0.0, ge=0, le=5)  # seconds from which an unwritten pause is a comma in training; 0: never

    # what is done to clips in training, another time in every epoch
    augment_speed: float = Field(0.0, ge=0, le=0.5)  # faster or slower by up to this share, in the same pitch
    augment_pitch: float = Field(0.0, ge=0, le=6)  # higher or lower by up to so many semitones; formants stay
    augment_formants: float = Field(0.0, ge=0, le=4)  # the same with the formants: as of somebody larger or smaller
    augment_room: float = Field(0.0, ge=0, le=1)  # share of the clips that are heard in a room
    augment_noise: float = Field(0.0, ge=0, le=1)  # share of the clips that get noise
    augment_noise_db: float = Field(10.0, ge=-5, le=40)  # of the speech over the loudest of that noise
    augment_codec: float = Field(0.0, ge=0, le=1)  # share of the clips that go through a codec

    @model_validator(mode="after")
    def _ordered(self) -> DataSettings:
        if self.min_seconds >= self.max_seconds:
            raise ValueError("min_seconds must be below max_seconds")
        if self.hold_back and self.everything:
            raise ValueError("hold_back and everything exclude each other: what is held back is not learnt from")
        if not self.augment_noise and self.augment_noise_db != type(self).model_fields["augment_noise_db"].default:
            raise ValueError("augment_noise_db has no effect while augment_noise is 0")
        return self


OF_SCHEDULES = {  # settings that only some schedules look at
    "final_rate": ("linear", "cosine"),
    "decay": ("exponential",),
    "milestones": ("milestones",),
    "drop": ("milestones", "plateau"),
    "plateau_patience": ("plateau",),
    "least_rate": ("plateau",),
}


class PlanSettings(Strict):
    steps: int = Field(2000, ge=0)
    batch_clips: int = Field(16, ge=1)  # most clips in one micro-batch
    batch_seconds: float = Field(120.0, gt=0)  # most padded sound in one micro-batch
    accumulate: int = Field(1, ge=1, le=MOST_ACCUMULATED)  # micro-batches per update
    curriculum_epochs: int = Field(0, ge=0)  # first epochs that go from short batches to long ones
    schedule: Literal["constant", "linear", "cosine", "exponential", "milestones", "plateau"] = "exponential"
    warmup_steps: int = Field(0, ge=0)
    final_rate: float = Field(0.1, ge=0, le=1)  # linear and cosine end at this share of the rate
    decay: float = Field(0.999875, gt=0, le=1)  # exponential: factor per epoch
    milestones: list[int] = Field(default_factory=list)  # steps from which on the rate is multiplied by drop
    drop: float = Field(0.5, gt=0, lt=1)  # milestones and plateau
    plateau_patience: int = Field(4, ge=1)  # plateau: validations without a better one before a drop
    least_rate: float = Field(0.0, ge=0, lt=1)  # plateau: share of the rate that no drop goes below
    rates: dict[str, float] = Field(default_factory=dict)  # part.prefix of weights -> factor on the rate; 0 freezes
    late: dict[str, int] = Field(default_factory=dict)  # part.prefix of weights -> the step from which they move
    max_hours: float = Field(0.0, ge=0)  # of training; then the run is saved and stops; 0: no limit
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    record: bool | Literal["auto"] = "auto"  # steps as CUDA graphs that are played back; auto: wherever that can be
    validate_every: int = Field(200, ge=1)
    save_every: int = Field(200, ge=1)
    keep: int = Field(3, ge=1)  # newest checkpoints kept, beside the best
    demo_clips: int = Field(2, ge=0)  # validation texts spoken at every validation
    sentences: list[str] = Field(default_factory=list)  # texts of your own, spoken then too
    choose: Literal["loss", "heard"] = (
        "loss"  # the best step: by the validation loss, or by what the samples sound like
    )
    stop_patience: int = Field(0, ge=0)  # validations without a better step after which training ends; 0: never
    freeze_old_rows: bool = False  # symbols that the base or the run before had stay as they are; only new ones learn

    @model_validator(mode="after")
    def _nothing_ignored(self) -> PlanSettings:
        fields = type(self).model_fields
        for name, schedules in OF_SCHEDULES.items():
            default = fields[name].get_default(call_default_factory=True)
            if self.schedule not in schedules and getattr(self, name) != default:
                raise ValueError(f"{name} has no effect with the {self.schedule} schedule")
        if self.schedule == "milestones" and not self.milestones:
            raise ValueError("the milestones schedule needs milestones = [step, ...]")
        if self.record is True and self.accumulate > 1:
            raise ValueError("record has no effect with accumulate > 1: a step of several batches is not recorded")
        if self.choose == "heard" and not self.demo_clips and not self.sentences:
            raise ValueError("choose = 'heard' has no effect without samples: set demo_clips or sentences")
        if any(factor < 0 for factor in self.rates.values()):
            raise ValueError("rates must not be below 0")
        return self


class GuardSettings(Strict):
    finite_patience: int = Field(3, ge=0)  # bad updates in a row that are skipped before a rewind
    spike_factor: float = Field(20.0, gt=1)  # times the running median that counts as a spike
    spike_window: int = Field(50, ge=20)  # updates the median runs over
    spike_patience: int = Field(5, ge=1)  # spikes within one window before a rewind
    still_patience: int = Field(20, ge=1)  # updates with a gradient of exactly zero before a stop
    balance_patience: int = Field(500, ge=1)  # updates a discriminator may win or only guess; twice that: a stop
    slow_after: int = Field(300, ge=50)  # updates after which the loss must have fallen
    slow_least: float = Field(0.03, ge=0, lt=1)  # by this share
    drift_factor: float = Field(2.0, gt=1)  # times its best that a loss may not stay above
    drift_patience: int = Field(300, ge=1)
    drift_warmup: int = Field(500, ge=1)
    overfit_patience: int = Field(5, ge=1)  # validations without a better one
    samples_warmup: float = Field(0.25, ge=0, le=1)  # share of the steps in which samples may sound like anything
    rewind_limit: int = Field(3, ge=0)
    rewind_factor: float = Field(0.5, gt=0, lt=1)  # the rate is multiplied by this at each rewind


class VoiceSettings(Strict):
    """What a voice is made of beside its own run; nothing of it is written down where nothing is set."""

    vocoder: str = ""  # RUN, RUN@STEP or a package x.vocoder; empty: the newest matched to it, or else the newest

    @field_validator("vocoder")
    @classmethod
    def _in_full(cls, text: str) -> str:
        return vocoder_named(text)


class Recipe(Strict):
    family: str = "vits"
    base: str | None = None
    seed: int = Field(1, ge=0, le=MOST_SEED)
    data: DataSettings = DataSettings()
    model: dict[str, Any] = Field(default_factory=dict)  # the family's own settings; checked by the family
    plan: PlanSettings = PlanSettings()
    guards: GuardSettings = GuardSettings()
    voice: VoiceSettings = VoiceSettings()
    match: str = ""  # a vocoder's: RUN@STEP of the acoustic model whose mels it learns to make sound of

    @model_serializer(mode="wrap")
    def _only_what_is_set(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = written(self)
        usual = DataSettings.model_fields
        for name in [one for one in values["data"] if one.startswith(AUGMENT)]:
            if getattr(self.data, name) == usual[name].default:
                values["data"].pop(name)
        if self.voice == VoiceSettings():
            values.pop("voice", None)
        if not self.match:
            values.pop("match", None)
        return values


def read_recipe(path: Path | None, overrides: list[str]) -> Recipe:
    """A base in a file is meant from that file's folder, one in an override from the current folder."""
    values = read_toml(path) if path else {}
    if path and isinstance(values.get("base"), str):
        values["base"] = named(values["base"], beside=path.parent)
    if path and isinstance(voice := values.get("voice"), dict) and isinstance(voice.get("vocoder"), str):
        voice["vocoder"] = vocoder_named(voice["vocoder"], beside=path.parent)
    recipe = check(Recipe, with_overrides(values, overrides), where=str(path) if path else "recipe")
    return recipe.model_copy(update={"base": named(recipe.base)}) if recipe.base else recipe


def vocoder_named(text: str, *, beside: Path | None = None) -> str:
    """A vocoder as a recipe keeps it: the name of a run as it is, the path of a package in full."""
    path = (beside or Path()) / text
    is_path = text.endswith(PACKAGED) or "/" in text or "\\" in text
    return str(path.resolve()) if is_path else text


def recipe_toml(recipe: Recipe) -> str:
    """The recipe as TOML, defaults included. What is off is left out: TOML has no null."""
    import tomli_w

    return str(tomli_w.dumps(without_none(recipe.model_dump(mode="json"))))


def without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {k: without_none(v) if isinstance(v, dict) else v for k, v in values.items() if v is not None}
