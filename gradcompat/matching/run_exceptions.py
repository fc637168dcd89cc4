"""What a run keeps from applying though no term asks for it: replaced parts, a step of its own, caught imports."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.matching.verdict import Verdict, with_presumption
from gradcompat.matching.view import View
from gradcompat.model.issue import Combination, Issue, SettingTerm, SymbolTerm
from gradcompat.presumptions.engines import FRAMEWORK_KEY
from gradcompat.presumptions.replaced import (
    ANY_STEP_KEY,
    DIVIDED_BY_STEPS,
    FORWARD_KEY,
    METHOD_KEY,
    OF_LOGITS,
    OF_STEP,
    OF_TRAINER,
    OF_TRAINING,
    OWN_STEP_KEY,
    REPLACED,
    RETURNED_LOSS_KEY,
)
from gradcompat.requirements.versions import ALL
from gradcompat.terms.class_facts import MODEL_KEY
from gradcompat.terms.comparison import texts
from gradcompat.terms.symbol_patterns import OPTIONAL_KEY, met_by, name_of, truth_of_use
from gradcompat.terms.term_keys import GUARDED_KEY, IMPORTED_KEY, key_of
from gradcompat.truth import Certainty, Truth

IMPORT = "import"  # the category of what keeps packages from being imported together


def exceptions_of(combination: Combination, issue: Issue, view: View) -> Iterator[Verdict]:
    """What the run keeps from applying, though no term asks for it."""
    yield from _replaced(combination, issue, view)
    yield from _own_step(combination, issue, view)
    yield from _of_logits(combination, view)
    yield from _guarded(combination, issue, view)
    yield from _imported_alone(combination, issue, view)


def _replaced(combination: Combination, issue: Issue, view: View) -> Iterator[Verdict]:
    """What a record says of trainers, losses and forward passes that another library puts its own in the place of."""
    if view.presumer is None or not view.replacing or OF_TRAINING.isdisjoint(issue.categories):
        return
    named = {term.name for term in combination.packages}
    for library in view.replacing:
        if named & REPLACED[library] and not any(name.startswith(library) for name in named):
            verdict = Verdict(Certainty.OPEN, f"{library} leaves it as it is", library)
            yield with_presumption(verdict, view.presumer.of_replaced(library))


def _own_step(combination: Combination, issue: Issue, view: View) -> Iterator[Verdict]:
    """What a record says of how the Trainer's step divides, where the program or TRL's trainer sees to that itself."""
    if view.presumer is None or OF_STEP.isdisjoint(issue.categories):
        return
    asked = {term.key: term for term in combination.terms if isinstance(term, SettingTerm)}
    own = [setting for setting in view.stated(OWN_STEP_KEY) if setting.value is True]
    methods = view.stated(METHOD_KEY)
    # A record that asks for the method is about the trainers of that method. What releases of DeepSpeed do to the
    # gradients stands behind the step, however that divides.
    behind = any(term.name == "deepspeed" and term.versions != ALL for term in combination.packages)
    counts = METHOD_KEY not in asked and not behind
    if not own and counts and all(setting.value in DIVIDED_BY_STEPS for setting in methods):
        own = [*methods]
    # A record that lists classes counts on what they say themselves, which a run may take back.
    refused = view.stated(FORWARD_KEY)
    lists = any(key_of(term) == MODEL_KEY for term in combination.terms)
    if not own and lists and all(setting.value is False for setting in refused):
        own = [*refused] if {term.name for term in combination.packages} == {"transformers"} else []
    framework = asked.get(FRAMEWORK_KEY)
    of_trainer = framework is not None and OF_TRAINER.issuperset(map(str, framework.values))
    if own and of_trainer and ANY_STEP_KEY not in asked:
        verdict = Verdict(Certainty.OPEN, "the Trainer's own training_step runs", OWN_STEP_KEY, own[0].location)
        yield with_presumption(verdict, view.presumer.of_own_step())


def _of_logits(combination: Combination, view: View) -> Iterator[Verdict]:
    """What a record says of the loss that a model returns, where TRL's trainer does not ask for it."""
    asked = {term.key: term for term in combination.terms if isinstance(term, SettingTerm)}
    loss, methods = asked.get(RETURNED_LOSS_KEY), view.stated(METHOD_KEY)
    if view.presumer is None or loss is None or loss.values != (True,) or METHOD_KEY in asked or not methods:
        return
    by_trl = all(setting.value == "trl" for setting in view.stated(FRAMEWORK_KEY))
    if by_trl and all(setting.value in OF_LOGITS for setting in methods):
        verdict = Verdict(Certainty.OPEN, "the trainer takes the model's loss", METHOD_KEY, methods[0].location)
        yield with_presumption(verdict, view.presumer.of_returned_loss())


def _guarded(combination: Combination, issue: Issue, view: View) -> Iterator[Verdict]:
    """What cannot be imported, where the code catches that, and goes on without it."""
    if view.presumer is None or IMPORT not in issue.categories:
        return
    caught, others = view.guarded_uses
    for term in combination.terms:
        # A name that nothing catches fails all the same.
        if not isinstance(term, SymbolTerm) or not caught or truth_of_use(others, term.symbols) is Truth.YES:
            continue
        if met := met_by(caught, term.symbols):
            name = name_of(next(symbol for symbol in caught if symbol in met))
            verdict = Verdict(Certainty.OPEN, f"the code cannot do without {name}", GUARDED_KEY)
            yield with_presumption(verdict, view.presumer.of_guarded(name))


def _imported_alone(combination: Combination, issue: Issue, view: View) -> Iterator[Verdict]:
    """What the code imports and uses only where options ask for it, unless the import is what fails."""
    if IMPORT in issue.categories:
        return
    imported, used = view.imported_uses
    for term in combination.terms:
        if not isinstance(term, SymbolTerm) or not imported or truth_of_use(used, term.symbols) is not Truth.NO:
            continue
        met = met_by(imported, term.symbols)
        if not met:
            continue
        by_options = {name for setting in view.settings.get(OPTIONAL_KEY, ()) for name in texts(setting.value)}
        if by_options.isdisjoint(met):  # the command is known
            yield Verdict(Certainty.NO, "the code imports it alone", IMPORTED_KEY)
            continue
        verdict = Verdict(Certainty.OPEN, f"the code uses {min(met)}", IMPORTED_KEY)
        yield verdict if view.presumer is None else with_presumption(verdict, view.presumer.of_optional(term))
