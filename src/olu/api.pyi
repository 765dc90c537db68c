"""What `olu.api` holds, for type checkers. Written by dev/declared.py."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from olu.core.files import Workspace
from olu.core.job import Event
from olu.core.options import Parameter, Verb
from olu.stages.align import AlignOutcome
from olu.stages.bounds import BoundsList, BoundsSummary, BoundsUndone
from olu.stages.clean import CleanSummary
from olu.stages.clips import ClipList, ClipSpread
from olu.stages.correct import CorrectSummary, UndoSummary
from olu.stages.cut import CutSummary, UncutSummary
from olu.stages.decide import DecideSummary
from olu.stages.distil import DistilSummary
from olu.stages.evaluate import EvaluateSummary
from olu.stages.evaluate_copies import CopySummary
from olu.stages.export import ExportSummary
from olu.stages.export_corpus import ExportCorpusSummary
from olu.stages.find_lr import RateSummary
from olu.stages.fix import AuditOutcome, FixUndone
from olu.stages.g2p import ReadTexts, ReadingExplained
from olu.stages.import_ import ImportSummary
from olu.stages.lexicon import LexiconList, WordSummary
from olu.stages.listening import ListeningList, ListeningMade, ListeningShown
from olu.stages.make import MakeSummary
from olu.stages.merge import MergeSummary
from olu.stages.pack import PackSummary
from olu.stages.plan import PlanSummary
from olu.stages.prepare import PrepareSummary
from olu.stages.prompts import PromptsSummary
from olu.stages.read import ReadSummary
from olu.stages.runs import Removal, RunDetail, RunsSummary
from olu.stages.speakers import SpeakersSummary
from olu.stages.split import SplitSummary
from olu.stages.status import Status
from olu.stages.training import TrainOutcome
from olu.stages.transcribe import AcceptSummary, ListSummary, TranscribeSummary
from olu.stages.tune import TuneSummary
from olu.studio.jobs_command import JobList

OnEvent = Callable[[Event], None]

def run(verb: str, *, on_event: OnEvent | None = None, **options: Any) -> Any: ...
def method_name(verb: Verb) -> str: ...
def method_parameters(verb: Verb) -> list[Parameter]: ...

class VerbWorkspace(Workspace):
    def __init__(self, root: str | Path) -> None: ...
    @staticmethod
    def open(root: str | Path) -> VerbWorkspace: ...
    @staticmethod
    def create(root: str | Path, *, language: str, name: str | None = None) -> VerbWorkspace: ...
    def make(
        self,
        source: str | Path,
        *,
        language: str,
        recipe: str | Path | None = None,
        changes: Iterable[str] | str = (),
        base: str | Path | None = None,
        from_scratch: bool = False,
        device: str | None = None,
        threads: int | None = None,
        on_event: OnEvent | None = None,
    ) -> MakeSummary: ...
    def import_(
        self,
        source: str | Path,
        *,
        layout: str = 'auto',
        speaker: str | None = None,
        columns: str | None = None,
        root: str | Path | None = None,
        config: str | None = None,
        split: str | None = None,
        subtitles: str | Path | None = None,
        shift: float | None = None,
        stretch: float | None = None,
        in_sync: bool = False,
        encoding: str | None = None,
        copy: bool = False,
        licence: str = '',
        consent: str = '',
        agreed: str = '',
        credits: str = '',
        dry_run: bool = False,
        hear: str | Path | None = None,
        on_event: OnEvent | None = None,
    ) -> ImportSummary: ...
    def merge(
        self,
        others: Iterable[str | Path] | str | Path,
        *,
        same_speakers: bool = False,
        several_languages: bool = False,
        on_event: OnEvent | None = None,
    ) -> MergeSummary: ...
    def audit(
        self,
        *,
        strict: bool = False,
        deep: bool = False,
        force: bool = False,
        fix: bool = False,
        dry_run: bool = False,
        undo: bool = False,
        on_event: OnEvent | None = None,
    ) -> AuditOutcome | FixUndone: ...
    def clips(
        self,
        *,
        where: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        csv: str | Path | None = None,
        ids: bool = False,
        summary: bool = False,
        on_event: OnEvent | None = None,
    ) -> ClipList | ClipSpread: ...
    def drop(
        self,
        ids: Iterable[str] | str = (),
        *,
        listed: str | Path | None = None,
        reason: str = '',
        undo: bool = False,
        on_event: OnEvent | None = None,
    ) -> DecideSummary: ...
    def keep(
        self,
        ids: Iterable[str] | str = (),
        *,
        listed: str | Path | None = None,
        reason: str = '',
        undo: bool = False,
        on_event: OnEvent | None = None,
    ) -> DecideSummary: ...
    def speakers(
        self,
        ids: Iterable[str] | str = (),
        *,
        rename: Iterable[str] | str = (),
        join: Iterable[str] | str = (),
        split: str | None = None,
        to: str | None = None,
        dry_run: bool = False,
        undo: bool = False,
        by: str | None = None,
        on_event: OnEvent | None = None,
    ) -> SpeakersSummary: ...
    def correct(
        self,
        file: str | Path | None = None,
        *,
        clip: str | None = None,
        text: str | None = None,
        undo: bool = False,
        by: str | None = None,
        on_event: OnEvent | None = None,
    ) -> CorrectSummary | UndoSummary: ...
    def bounds(
        self,
        file: str | Path | None = None,
        *,
        undo: bool = False,
        clip: str | None = None,
        by: str | None = None,
        on_event: OnEvent | None = None,
    ) -> BoundsSummary | BoundsUndone | BoundsList: ...
    def transcribe(
        self,
        *,
        listener: str = 'own',
        model: str = '',
        list: str | Path | None = None,
        minutes: float | None = None,
        order: str | None = None,
        accept: float | None = None,
        base: str | Path | None = None,
        changes: Iterable[str] | str = (),
        force: bool = False,
        device: str | None = None,
        on_event: OnEvent | None = None,
    ) -> TranscribeSummary | ListSummary | AcceptSummary: ...
    def prompts(
        self,
        *,
        texts: Iterable[str | Path] | str | Path = (),
        count: int = 300,
        longest: int = 120,
        on_event: OnEvent | None = None,
    ) -> PromptsSummary: ...
    def export_corpus(
        self,
        *,
        to: str,
        output: str | Path | None = None,
        speaker: str | None = None,
        rate: int | None = None,
        loudness: float | None = None,
        licence: str = '',
        override_licence: str = '',
        push: str | None = None,
        public: bool = False,
        on_event: OnEvent | None = None,
    ) -> ExportCorpusSummary: ...
    def split(
        self,
        *,
        valid: float | None = None,
        test: float | None = None,
        seed: int | None = None,
        on_event: OnEvent | None = None,
    ) -> SplitSummary: ...
    def read(
        self,
        *,
        language: str | None = None,
        lines: str | Path | None = None,
        dialect: str | None = None,
        symbols: str | None = None,
        marks: str | None = None,
        language_options: Iterable[str] | str = (),
        lexicon: str | Path | None = None,
        restore: str | None = None,
        restorer: str | Path | None = None,
        chain: str | None = None,
        reader: str | Path | None = None,
        explain: bool = False,
        on_event: OnEvent | None = None,
    ) -> ReadSummary | ReadTexts | ReadingExplained: ...
    def lexicon(
        self,
        word: str | None = None,
        phones: str | None = None,
        *,
        strike: bool = False,
        dry_run: bool = False,
        on_event: OnEvent | None = None,
    ) -> LexiconList | WordSummary: ...
    def align(
        self,
        *,
        source: str | Path | None = None,
        textgrid: str | Path | None = None,
        durations: str | Path | None = None,
        hop: int = 256,
        rate: int = 16000,
        frames: str = 'floor',
        ctc_only: bool = False,
        cross: bool = False,
        flat: bool = False,
        base: str | Path | None = None,
        device: str | None = None,
        threads: int | None = None,
        force: bool = False,
        on_event: OnEvent | None = None,
    ) -> AlignOutcome: ...
    def cut(
        self,
        *,
        longest: float = 20.0,
        dry_run: bool = False,
        undo: bool = False,
        on_event: OnEvent | None = None,
    ) -> CutSummary | UncutSummary: ...
    def prepare(
        self,
        *,
        jobs: int | None = None,
        recipe: str | Path | None = None,
        on_event: OnEvent | None = None,
    ) -> PrepareSummary: ...
    def plan(
        self,
        *,
        base: str | Path | None = None,
        from_scratch: bool = False,
        changes: Iterable[str] | str = (),
        device: str | None = None,
        measure: bool = False,
        only_print: bool = False,
        force: bool = False,
        on_event: OnEvent | None = None,
    ) -> PlanSummary: ...
    def train(
        self,
        *,
        recipe: str | Path | None = None,
        changes: Iterable[str] | str = (),
        resume: bool = False,
        resumed: str | None = None,
        from_run: str | None = None,
        match: str | None = None,
        base: str | Path | None = None,
        from_scratch: bool = False,
        from_hf_vits: str | Path | None = None,
        new: bool = False,
        dry_run: bool = False,
        find_lr: bool = False,
        evaluate: bool = False,
        device: str | None = None,
        threads: int | None = None,
        profile: int = 0,
        on_event: OnEvent | None = None,
    ) -> TrainOutcome | RateSummary: ...
    def tune(
        self,
        *,
        over: Iterable[str] | str = (),
        minutes: float | None = None,
        steps: int | None = None,
        by: str = 'heard',
        sentences: int = 24,
        recipe: str | Path | None = None,
        changes: Iterable[str] | str = (),
        base: str | Path | None = None,
        device: str | None = None,
        threads: int | None = None,
        output: str | Path | None = None,
        new: bool = False,
        on_event: OnEvent | None = None,
    ) -> TuneSummary: ...
    def runs(
        self,
        run: str | None = None,
        *,
        remove: str | None = None,
        yes: bool = False,
        on_event: OnEvent | None = None,
    ) -> RunsSummary | RunDetail | Removal: ...
    def evaluate(
        self,
        *,
        corpus: str | Path | None = None,
        sentences: int = 50,
        text: str | Path | None = None,
        wavs: str | Path | None = None,
        only: str = '',
        run: str | None = None,
        step: int | None = None,
        speaker: str | None = None,
        checkpoints: str | None = None,
        collusion: bool = False,
        seed: int = 0,
        noise: float | None = None,
        device: str | None = None,
        threads: int | None = None,
        output: str | Path | None = None,
        strict: bool = False,
        on_event: OnEvent | None = None,
    ) -> EvaluateSummary | CopySummary: ...
    def listening(
        self,
        name: str | None = None,
        *,
        of: Iterable[str | Path] | str | Path = (),
        run: Iterable[str] | str = (),
        natural: bool = False,
        kind: str = 'ab',
        sentences: int = 20,
        text: str | Path | None = None,
        seed: str | None = None,
        add: str | Path | None = None,
        by: str | None = None,
        threads: int | None = None,
        on_event: OnEvent | None = None,
    ) -> ListeningMade | ListeningList | ListeningShown: ...
    def export(
        self,
        *,
        to: str = 'voice',
        run: str | None = None,
        step: int | None = None,
        output: str | Path | None = None,
        vocoder: str = '',
        language: str = '',
        accent: str = '',
        with_training: bool = False,
        noise: float | None = None,
        bits: int | None = None,
        no_watermark: bool = False,
        cloning: bool = False,
        lexicon: str | Path | None = None,
        runtime: str | Path | None = None,
        licence: str = '',
        override_licence: str = '',
        push: str | None = None,
        public: bool = False,
        on_event: OnEvent | None = None,
    ) -> ExportSummary: ...
    def pack(
        self,
        *,
        output: str | Path | None = None,
        runs: str = 'last',
        features: bool = False,
        opus: bool = False,
        on_event: OnEvent | None = None,
    ) -> PackSummary: ...
    def distil(
        self,
        *,
        texts: str | Path,
        to: str | Path,
        hours: float | None = None,
        recogniser: str | Path | None = None,
        most_wrong: float = 0.15,
        tries: int = 2,
        speaker: str | None = None,
        knob: Iterable[str] | str = (),
        seed: int = 0,
        device: str | None = None,
        threads: int | None = None,
        on_event: OnEvent | None = None,
    ) -> DistilSummary: ...
    def status(
        self,
        *,
        on_event: OnEvent | None = None,
    ) -> Status: ...
    def clean(
        self,
        *,
        damaged: bool = False,
        on_event: OnEvent | None = None,
    ) -> CleanSummary: ...
    def jobs(
        self,
        *,
        job: int | None = None,
        stop: int | None = None,
        at_once: bool = False,
        on_event: OnEvent | None = None,
    ) -> JobList: ...
