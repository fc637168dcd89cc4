"""The guard of one training run: on for the first optimizer steps, then gone."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradcompat.guard import deepspeed_engine, live_facts, run_report, screen, tracebacks, trackers
from gradcompat.guard.checkpoint_reading import CheckpointReading
from gradcompat.guard.collective import rank
from gradcompat.guard.compiled_in_place import watch_compiled
from gradcompat.guard.detectors import checkpoint, replicas
from gradcompat.guard.findings import Finding, GuardStop, Outcome, Unverified
from gradcompat.guard.instrumentation import Instrumentation, loaded
from gradcompat.guard.judgement import Judgement
from gradcompat.guard.later_losses import LaterLosses
from gradcompat.guard.live_facts import Fact, Facts
from gradcompat.guard.matched_records import LONGEST_ANSWER, Record, RecordMatching
from gradcompat.guard.measurement import Checkpoint, Replay, Step
from gradcompat.guard.model_watch import ModelWatch
from gradcompat.guard.observer import Asked, Observer
from gradcompat.guard.options import CHECKPOINT, LATER_LOSSES, PACKING, Options
from gradcompat.guard.pipelines import watch_pipelines

_WARN = '`gradcompat run --on-defect warn`, or on_defect="warn" where the guard is made'
_LONGEST_WORD = 2 * LONGEST_ANSWER + 30  # seconds: the records and the change, each waited for, and the report
_active: list[Guard] = []


class Guard:
    """Verifies that the first optimizer steps of a run do what one large batch would do.

    It adds no forward pass to a loop of your own, draws no random number and changes no tensor: the weights are bit for
    bit those of a run without it. ::

        with Guard(model, accumulation=4) as guard:
            train(model)
        print(guard.judgement.findings)
    """

    def __init__(
        self,
        model: Any = None,
        *,
        accumulation: int | None = None,
        max_grad_norm: float | None = None,
        **options: Any,
    ) -> None:
        """Prepare; nothing is put on before the guard is entered.

        Args:
            model: what is trained; without it, the modules that are called in training.
            accumulation: micro-batches of an optimizer step, where no framework tells.
            max_grad_norm: clipping that should happen; 0 if none should.
            options: fields of :class:`gradcompat.guard.options.Options`.

        Raises:
            ValueError: if an option makes no sense.
        """
        self.options = Options(**options)
        self.asked = Asked(accumulation=accumulation, max_grad_norm=max_grad_norm, packing=PACKING in self.options.also)
        self.judgement = Judgement()
        self.facts: Facts = {}
        self.framework = "a loop of PyTorch"
        self.finished = False
        self.automatic = False
        self._model = model
        self._instrumentation = Instrumentation()
        self._observer: Observer | None = None
        self._steps: list[Step] = []
        self._matching: RecordMatching | None = None
        self._optimizers: set[int] = set()
        self._passed_over: set[int] = set()
        self._looked = self._updating = self._started = self._failed = False
        self._change = ""
        self._first_batches: list[list[int]] = []
        self._later: LaterLosses | None = None
        self._checkpoint: CheckpointReading | None = None

    # On and off.

    def __enter__(self) -> Guard:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        tracebacks.clean(error)
        self.end(at_exit=error is not None)

    def start(self) -> None:
        """Put everything on; if the run cannot be guarded, say why."""
        torch = loaded("torch")
        if torch is None:
            return screen.say("gradcompat guard: torch is not imported yet, so nothing is guarded")
        hooks = loaded("torch.optim.optimizer")
        if not hasattr(hooks, "register_optimizer_step_pre_hook"):
            return screen.say(f"gradcompat guard: torch {torch.__version__} has no hooks for optimizers, 2.0 is needed")
        if _active and not _active[-1].automatic:
            return screen.say("gradcompat guard: another guard is at work, this one does nothing")
        replaced = [other.observer for other in _active]  # an explicit guard knows more than that of `gradcompat run`
        for other in list(_active):
            other.close()
        _active.append(self)
        self._started = True
        keep = self._instrumentation.keep
        keep(hooks.register_optimizer_step_pre_hook(self._before_update))
        keep(hooks.register_optimizer_step_post_hook(self._safely(self._after_update)))
        self._observer = Observer(self.asked, self._instrumentation, self.fail)
        self._steps = self._observer.steps
        self._observer.before_backward = self._safely(self._next_step)
        self._instrumentation.wrap(sys, "excepthook", tracebacks.around_hook)
        self._instrumentation.wrap(loaded("torch.distributed"), "destroy_process_group", self._before_group_ends)
        watch_pipelines(self._instrumentation, self._in_pipeline)
        for observer in replaced:
            if observer is not None:
                self._observer.optimizers.inherit(observer.optimizers)
        if self._model is not None:
            self._watch(self._observer, self._model)
        else:
            called = self._safely(self._called)
            keep(torch.nn.modules.module.register_module_forward_pre_hook(called))
            watch_compiled(self._instrumentation, called)
        return None

    def close(self) -> None:
        """Take everything off, and hold neither models nor optimizers any more: the run may want their memory."""
        self._instrumentation.remove()
        if self._observer is not None:
            self._observer.ranks.withdraw()
        self._observer = self._model = None
        if self._matching is not None:
            self._matching.close()
        if self in _active:
            _active.remove(self)

    def end(self, *, at_exit: bool = False) -> None:
        """Say what was verified, write the report, and take everything off.

        Args:
            at_exit: the interpreter ends: an error is told, and stops nothing any more.

        Raises:
            GuardStop: if something is wrong that shows at the end.
        """
        if self._later is not None:
            self._later.end()
        if at_exit and not self._instrumentation.active:
            return  # a process that was forked, or a guard that is off
        if self._started and not self.finished and not self._failed and self._observer is not None:
            self.finished = True
            self._last_words(self._observer, at_exit=at_exit)
        self.close()

    @property
    def observer(self) -> Observer | None:
        """What watches torch; None before something trains."""
        return self._observer

    @property
    def between_steps(self) -> bool:
        """Whether the next backward pass is the first one of a step."""
        return self._looked or self._observer is None or not self._observer.pending

    @property
    def measured_steps(self) -> list[Step]:
        """The steps that were measured."""
        return self._steps

    def replaying(self, replay: Callable[[], Replay | None]) -> Callable[[], Replay | None]:
        """A replay that fails is something that could not be verified, and nothing else."""

        def tried() -> Replay | None:
            try:
                return replay()
            except Exception as error:  # what the user's model raises
                self.judgement.unverified["objective weight (replay)"] = f"{type(error).__name__} in the replay"
                return None

        return tried

    # What torch calls.

    def _safely(self, function: Callable[..., Any], *, always: bool = False) -> Callable[..., Any]:
        """A failure of the guard is told once, and the run goes on without it.

        Args:
            function: what is called; not while torch compiles its caller, which would have to compile the guard, too.
            always: after everything is taken off, too.
        """
        compiles = getattr(loaded("torch.compiler"), "is_compiling", bool)

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if compiles() or not (always or self._instrumentation.active):
                return None
            try:
                return function(*arguments, **keywords)
            except GuardStop:
                raise
            except Exception as error:  # whatever it is, the run goes on
                self.fail(error)
                return None

        return call

    def fail(self, error: Exception) -> None:
        """The guard itself has failed: say so once, and take everything off."""
        if not self._failed:
            self._failed = True
            what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            screen.say(f"gradcompat guard: failed ({what}); the run goes on without it")
            if os.environ.get("GRADCOMPAT_TRACEBACK"):
                screen.say("".join(traceback.format_exception(error)).rstrip())
        if self._checkpoint is not None:
            self._checkpoint.end()
        self.close()

    def _watch(self, observer: Observer, model: Any, *, evaluated: bool = False) -> None:
        if evaluated:
            observer.watch_evaluated(model)
        else:
            observer.watch(model)
        if deepspeed_engine.is_engine(model):
            self.asked.accumulation = self.asked.accumulation or deepspeed_engine.accumulation(model)
            self.asked.data_parallel = True
            self.facts = deepspeed_engine.facts(model) | self.facts
            read = functools.partial(self._before_engine_step, observer.models[-1])
            self._instrumentation.wrap(type(model), "step", read)
        if self._matching is None and rank() == 0:
            self._match(model)

    def _match(self, model: Any) -> None:
        known = live_facts.of_process() | live_facts.of_model(model) | self.facts
        self.facts = known if "training.framework" in known else live_facts.of_loop(model) | known
        self._matching = RecordMatching(self.facts, self.options.python)

    def _match_again(self, measured: Mapping[str, Fact]) -> None:
        """What a finding has decided may be the very setting that a record asks for."""
        new = {key: value for key, value in measured.items() if key not in self.facts}
        if new and self._matching is not None:
            self._matching.close()
            self.facts = self.facts | new
            self._matching = RecordMatching(self.facts, self.options.python)

    def _called(self, module: Any, inputs: tuple[Any, ...]) -> None:
        """Some module is called: one that trains and is not watched yet is a model."""
        if id(module) in self._passed_over or not loaded("torch").is_grad_enabled():
            return
        observer = self._observer
        if observer is None:
            return
        if not module.training:
            if not observer.knows(module):  # a model that is watched notes them itself
                observer.evaluated.setdefault(id(module), module)
                observer.note_inputs(inputs)
            return
        if not observer.knows(module) and any(parameter.requires_grad for parameter in module.parameters()):
            self._watch(observer, module)
        observer.note_inputs(inputs)  # of parts, too: a hook for all modules is given no keywords
        self._passed_over.add(id(module))

    def _before_update(self, optimizer: Any, arguments: Any, keywords: Any) -> Any:
        if not self._instrumentation.active:
            return None
        closure = keywords.get("closure") or (arguments[1] if len(arguments) > 1 else None)
        look = self._safely(self._look)
        if not callable(closure):
            return look(optimizer)

        def then_look() -> Any:
            result = closure()  # Lightning and LBFGS run backward in here
            look(optimizer)
            return result

        if "closure" in keywords:
            return arguments, {**keywords, "closure": then_look}
        return (arguments[0], then_look, *arguments[2:]), keywords

    def _look(self, optimizer: Any) -> None:
        """Judge the step that this optimizer is about to make; a second optimizer of one step adds its parameters."""
        observer = self._observer
        if observer is not None and observer.ledger.in_backward:
            return self._go_on_unseen("optimizers step inside of backward")
        if observer is None or not observer.pending:
            return None
        self._watch_evaluated(observer, optimizer)
        self._optimizers.add(id(optimizer))
        observer.hold(optimizer)
        if not self._updating:
            with loaded("torch").no_grad():
                observer.rest(optimizer)
        self._updating = True
        if self._looked:
            return None
        self._looked = True
        if self.asked.accumulation is None:
            self.asked.accumulation = live_facts.accelerate_steps()
        with loaded("torch").no_grad():
            step = observer.measure(optimizer)
        if not observer.steps:
            self._wait_for_checkpoint(observer)
            step = self._against_earlier_runs(step)
            self._say_start()  # before anything is judged: what fails here hides no finding
        new = self.judgement.step(step, observer.steps)
        observer.steps.append(step)
        if step.apart:
            self._tell(new, [rank()] if _has_error(new) else [])
            return self._go_on_apart()
        self._tell(new, [place for place, one in enumerate(step.ranks) if one.failing])
        with loaded("torch").no_grad():
            observer.snapshot()
        return None

    def _watch_evaluated(self, observer: Observer, optimizer: Any) -> None:
        """A model that was called in evaluation mode is one that trains if an optimizer that steps holds it."""
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        for module in list(observer.evaluated.values()):  # the outer ones were called first
            if module.training or any(map(observer.knows, module.modules())):
                continue
            if any(one.requires_grad and id(one) in held for one in module.parameters()):
                self._watch(observer, module, evaluated=True)
        observer.evaluated.clear()

    def _go_on_unseen(self, why: str) -> None:
        """No step can be looked at: a gradient is gone before the next one is there, or the model is in parts."""
        self.finished = True
        if rank() == 0:
            screen.say(f"gradcompat guard: {why}, which cannot be verified; nothing is guarded")
        self.close()

    def _in_pipeline(self, step: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A pipeline takes a step, of which every rank has a part alone."""
        self._go_on_unseen("the layers are parted over ranks (pipeline parallelism)")
        return step(*arguments, **keywords)

    def _go_on_apart(self) -> None:
        """Some rank does not answer: the run goes on as it would without a guard."""
        self.finished = True
        self.judgement.unverified["ranks"] = "the guard of another rank has ended or failed"
        if rank() == 0:
            line = screen.end_line(len(self._steps), self.judgement)
            screen.say(f"{line}; the run goes on without the guard")
            self._write(stopped=False)
        self.close()

    def _against_earlier_runs(self, step: Step) -> Step:
        """Whether this run begins with the batch that an earlier one began with, by the report that lies there."""
        now = [one.data for one in step.ranks]
        earlier = run_report.first_batches(self.options.report) if self.options.report else []
        self._first_batches = [*earlier, now] if any(now) else earlier
        return replace(step, repeats=now in earlier if earlier and any(now) else None)

    def _before_engine_step(
        self, watch: ModelWatch, step: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """DeepSpeed is about to average, clip and step: the last moment at which its gradients are as they arrived."""
        if self._observer is not None and self._observer.pending and arguments[0] is watch.model:
            self._safely(self._read_partitions)(watch, self._observer)
        return step(*arguments, **keywords)

    def _read_partitions(self, watch: ModelWatch, observer: Observer) -> None:
        if deepspeed_engine.is_at_boundary(watch.model) and not self._looked:
            with loaded("torch").no_grad():
                deepspeed_engine.read_whole_gradients(watch, observer.ranks)

    def _after_update(self, optimizer: Any, _arguments: Any, _keywords: Any) -> None:
        if self._observer is not None:
            if self._updating:
                self._observer.optimizers.hold(optimizer)
            with loaded("torch").no_grad():
                self._observer.compare_resting(optimizer)
        self._updating = False

    def _next_step(self) -> None:
        """Backward is called: if an optimizer has stepped since the last time, that step is over."""
        observer = self._observer
        if observer is None or not self._looked or self._updating:  # LBFGS calls backward inside its step
            return
        self._looked = False
        with loaded("torch").no_grad():
            observer.compare(len(self._optimizers))
        if len(observer.steps) >= self.options.steps * len(self._optimizers):
            self.end()
            if LATER_LOSSES in self.options.also and not self._failed:
                self._later = LaterLosses(self._tell_later, self.fail)

    def _before_group_ends(
        self, destroy: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """All ranks are about to part: the last moment at which they can compare what the last step has left them."""
        group = arguments[0] if arguments else keywords.get("group")
        whole = group is None or group is getattr(loaded("torch.distributed").group, "WORLD", None)
        if whole and self._looked and not self._updating:
            self._safely(self.end)()
        return destroy(*arguments, **keywords)

    def _wait_for_checkpoint(self, observer: Observer) -> None:
        """Where it is asked for, the first checkpoint is read back, whenever the run writes it."""
        if CHECKPOINT in self.options.also:
            models = [watch.model for watch in observer.models]
            sharded = any(watch.sharded for watch in observer.models)
            self._checkpoint = CheckpointReading(models, self._tell_checkpoint, self.fail, sharded=sharded)

    # What is said.

    def _tell_checkpoint(self, found: Checkpoint | Unverified) -> None:
        """The first checkpoint is written and read back, by the rank that has written it; the run is not stopped."""
        self.judgement.unverified.pop("checkpoint", None)
        outcomes = list(checkpoint.judge_checkpoint(found)) if isinstance(found, Checkpoint) else [found]
        new = self.judgement.add(outcomes)
        self._tell(new, [rank()], stopping=False)
        if isinstance(found, Checkpoint) and not [one for one in new if one.level != "note"]:
            screen.say(screen.checkpoint_line(found, outcomes))
        if rank() == 0 and self.finished:
            self._write(stopped=False)

    def _tell_later(self, finding: Finding) -> None:
        """A loss has become NaN long after: the rank that sees it says so, and the run is not stopped."""
        new = self.judgement.add([finding])
        self._tell(new, [rank()], stopping=False)
        if new and rank() == 0:
            self._write(stopped=False)

    def tell(self, outcomes: Iterable[Outcome]) -> None:
        """Take in what an adapter has seen; an error stops the run. Where ranks train together, each has to call it."""
        self._safely(self._tell_together, always=True)(self.judgement.add(outcomes))

    def _records(self) -> tuple[Record, ...]:
        return self._matching.records() if self._matching is not None else ()

    def _say_start(self) -> None:
        if self._matching is not None:
            records, matching = self._records(), self._matching
            screen.say(screen.start_line(self.options.steps, self.framework, records, matching.total, matching.problem))

    def _tell_together(self, new: list[Finding]) -> None:
        """Tell findings that ranks have made by themselves: what one of them sees is told there, and stops all."""
        observer = self._observer
        failing: list[int] = []
        if observer is not None and not self._failed and observer.together:
            failing = observer.ranks.flagged(_has_error(new), observer.device)
        elif _has_error(new):
            failing = [rank()]
        self._tell(new, failing)

    def _tell_at_end(self, new: list[Finding], observer: Observer) -> None:
        """Tell what ranks have found behind the last step, and whether that has left them with the same parameters."""
        if self._failed or not observer.together:
            return self._tell_together(new)
        with loaded("torch").no_grad():
            ends = observer.ranks.finished(_has_error(new), observer.digest(), observer.device)
        if ends is None:
            self.judgement.unverified["replicas after the last step"] = "the guard of another rank has ended or failed"
            return self._tell(new, [rank()] if _has_error(new) else [])
        failing = [place for place, (wrong, _) in enumerate(ends) if wrong]
        apart = self.judgement.add(replicas.judge_end([digest for _, digest in ends], len(observer.steps)))
        return self._tell(new + apart, failing)

    def _tell(self, new: list[Finding], failing: Sequence[int], *, stopping: bool = True) -> None:
        """Print findings on one rank, and stop all ranks if one of them is an error.

        Args:
            new: findings of this rank.
            failing: ranks with an error of their own, the first of which speaks; empty where all see the same.
            stopping: an error may end the run.
        """
        speaker = failing[0] if failing else 0
        if failing and rank() not in failing and not self.judgement.errors:
            new = new + self.judgement.add([Finding("other ranks", "error", f"rank {speaker} has a defect")])
        wrong = [one for one in new if one.level != "note"]
        stopping = stopping and self.options.on_defect == "stop" and _has_error(wrong)
        self.finished = self.finished or stopping
        if rank() == speaker:
            try:
                self._speak(wrong, stopping=stopping)
            except Exception as error:  # what cannot be told hides no stop
                if not stopping:
                    raise
                screen.say(f"gradcompat guard: error: {wrong[0].text}; stopped ({type(error).__name__}: {error})")
        if wrong:
            self._track("; ".join(one.text for one in wrong), trackers.of_findings(wrong))
        if not stopping:
            return
        observer = self._observer
        if observer is not None and observer.together:
            # A launcher ends all processes when the first one is gone, and the speaker may need a while.
            observer.ranks.meet(_LONGEST_WORD)
        self.close()
        raise GuardStop(tuple(self.judgement.errors))

    def _speak(self, wrong: list[Finding], *, stopping: bool) -> None:
        if wrong:
            if self._matching is None and self._observer is not None and self._observer.models:
                self._match(self._observer.models[0].model)  # another rank than the first one speaks
            measured = self._steps[0].facts if self._steps else {}
            self._match_again({**measured, **{key: value for one in wrong for key, value in one.facts.items()}})
            records = self._records()
            stopped = screen.stop_words(len(self._steps), updating=self._updating) if stopping else ""
            ids = [record.id for one in wrong for record in screen.explaining(one, records)[:1]]
            if ids and self._matching is not None:
                self._change = self._matching.change(list(dict.fromkeys(ids)))
            screen.say(screen.screen(wrong, records, self._change, stopped=stopped, warn_hint=_WARN))
        if stopping:
            self._write(stopped=True)

    def _last_words(self, observer: Observer, *, at_exit: bool) -> None:
        if not observer.steps:
            return
        with loaded("torch").no_grad():
            if self._looked:
                observer.compare(len(self._optimizers))
            new = self.judgement.run(observer.run())
        if self._checkpoint is not None and "checkpoint" not in self.judgement.verified:
            self.judgement.unverified.setdefault("checkpoint", "none has been written yet")
        if at_exit:  # ranks end when they like
            if observer.together:
                self.judgement.unverified["replicas after the last step"] = "the run has ended before another one"
            self._tell(new, [rank()] if _has_error(new) else [], stopping=False)
        else:
            self._tell_at_end(new, observer)
        if rank() == 0:
            line = screen.end_line(len(observer.steps), self.judgement)
            screen.say(line)
            told = [one.text for one in self.judgement.findings if one.level != "note"]
            self._track("; ".join([*told, line]), trackers.of_step(observer.steps[-1]))
            self._write(stopped=False)

    def _track(self, text: str, numbers: Mapping[str, float]) -> None:
        """On every rank that has a run of a tracker."""
        for name, why in trackers.log(text, numbers, len(self._steps)).items():
            screen.say(f"gradcompat guard: {name} got nothing ({why})")

    def _write(self, *, stopped: bool) -> None:
        if not self.options.report:
            return
        content = run_report.report(
            self.judgement,
            self._steps,
            self._records(),
            facts=self.facts,
            packages=self._matching.packages if self._matching is not None else {},
            change=self._change,
            stopped=stopped,
            first_batches=self._first_batches,
        )
        try:
            run_report.write(self.options.report, content)
        except OSError as error:
            screen.say(f"gradcompat guard: {self.options.report} cannot be written: {error.strerror}")


def _has_error(findings: Iterable[Finding]) -> bool:
    return any(one.level == "error" for one in findings)


def current() -> Guard | None:
    """The guard that is at work in this process."""
    return _active[-1] if _active else None
