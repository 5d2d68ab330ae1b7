"""Fits the weights of `ask` on explained runs and writes `src/ask/weights.rs`.

    notewell eval --mode ask SET… --keep CACHE --run-out RUNS --explain
    python3 models/ask/fit.py RUNS src/ask/weights.rs

RUNS holds `SET.ask.answerable.jsonl`, `SET.ask.withheld.jsonl` and `SET.ask.unanswerable.jsonl`.
Sets that `models/ask/sets.py` made (`askparts…`) count a part, and their questions that no statement
answers are left out: a pattern does not always make a question. The ranking is a softmax over the statements of a question, fitted so that those that hold the
answer come first. The confidence is a logistic curve over the best statement: whether the answer
that it leads is right; questions that the notes answer and questions that they do not weigh the same
in sum. Sets count alike, whatever their size. Figures are of two folds: each half
of the questions under weights fitted on the other half. Plain Python; a few minutes.
"""

import json
import math
import random
import sys
from collections import defaultdict
from pathlib import Path

NAMES = [
    "own", "around", "head", "cosine", "standing", "passage", "passage_cosine", "fits", "misses",
    "list", "no_list", "defines", "opens", "no_definition", "item", "row", "group", "first", "length",
    "japanese", "russian",
]
MEANING = [NAMES.index("cosine"), NAMES.index("passage_cosine")]
GROUPS = [NAMES.index("list"), NAMES.index("group")]
# As in `src/ask/extract.rs` and `src/ask/mod.rs`.
MAX_QUOTES = 4
MAX_GAP = 3.0
MIN_CHARS = 120
MIN_CONFIDENCE = 0.33
SURE = 0.8
RIDGE = 0.02
# Statements of a question that training looks at: those that hold the answer, and so many others.
MAX_OTHERS = 14
# The weight of a set of patterns beside one of people's questions, for the ranking and for the
# confidence: that a pattern is answered wrongly says little about people's questions.
PATTERNS, PATTERNS_SURE = 0.3, 0.1
# Bounds of the ranking that patterns must not teach past: a list is whole where one is asked for, and
# of a table the row answers.
BOUNDS = {"list": (0.0, 8.0), "defines": (0.0, 6.0), "opens": (0.0, 3.0), "row": (0.0, 1.0),
          "group": (-2.0, 1.5), "item": (-1.0, 0.5)}
# Bounds of the confidence, which too few of people's questions would teach: a list that was asked for
# and a definition speak for an answer, a mere mention of the thing to define speaks against it.
SURE_BOUNDS = {"own": (0.0, math.inf), "head": (0.0, math.inf), "list": (1.0, math.inf),
               "defines": (0.0, math.inf), "group": (0.0, math.inf), "opens": (-2.0, math.inf),
               "no_definition": (-math.inf, -5.0)}


def is_pattern(name):
    return name.startswith("askparts")


def weight_of(name, pattern):
    return pattern if is_pattern(name) else 1.0


def read(folder):
    questions = []
    for file in sorted(Path(folder).glob("*.ask.*.jsonl")):
        name, kind = file.name[: -len(".jsonl")].split(".ask.")
        for line in open(file):
            row = json.loads(line)
            if "statements" not in row:
                sys.exit(f"{file} has no statements: run with --explain")
            statements = [(one["features"], one["holds"], one["text"]) for one in row["statements"]]
            held = any(holds for _, holds, _ in statements)
            if is_pattern(name) and kind == "answerable" and not held:
                continue
            questions.append((name, kind, row["id"], statements))
    return questions


def dot(weights, features):
    return sum(weight * x for weight, x in zip(weights, features))


def scales(rows):
    """The deviation of each feature, so that one step suits all."""
    count = len(rows)
    means = [sum(row[at] for row in rows) / count for at in range(len(NAMES))]
    squares = [sum((row[at] - means[at]) ** 2 for row in rows) / count for at in range(len(NAMES))]
    return [max(math.sqrt(square), 1e-3) for square in squares]


def fit_rank(questions, words):
    examples = []
    random.seed(1)
    per_set = defaultdict(int)
    for name, kind, _, statements in questions:
        if kind == "answerable" and any(holds for _, holds, _ in statements):
            held = [features for features, holds, _ in statements if holds]
            rest = [features for features, holds, _ in statements if not holds]
            if rest:
                random.shuffle(rest)
                examples.append((name, held, rest[:MAX_OTHERS]))
                per_set[name] += 1
    scale = scales([row for _, held, rest in examples for row in held + rest])
    if words:
        for at in MEANING:
            scale[at] = 1e9
    examples = [
        (weight_of(name, PATTERNS) / per_set[name],
         [[x / s for x, s in zip(row, scale)] for row in held],
         [[x / s for x, s in zip(row, scale)] for row in rest])
        for name, held, rest in examples
    ]
    total = sum(weight for weight, _, _ in examples)
    weights, speed = [0.0] * len(NAMES), [0.0] * len(NAMES)
    for _ in range(120):
        gradient = [RIDGE * 0.1 * weight for weight in weights]
        for share, held, rest in examples:
            zs = [dot(weights, row) for row in held + rest]
            top = max(zs)
            es = [math.exp(z - top) for z in zs]
            whole, right = sum(es), sum(es[: len(held)])
            for at, row in enumerate(held + rest):
                slope = es[at] / whole - (es[at] / right if at < len(held) else 0.0)
                slope *= share / total
                if abs(slope) > 1e-7:
                    for index, x in enumerate(row):
                        gradient[index] += slope * x
        for index in range(len(NAMES)):
            speed[index] = 0.85 * speed[index] - 0.35 * gradient[index]
            low, high = BOUNDS.get(NAMES[index], (-math.inf, math.inf))
            moved = weights[index] + speed[index]
            weights[index] = max(low * scale[index], min(high * scale[index], moved))
    return [weight / s for weight, s in zip(weights, scale)]


def answer(rank, statements):
    """The best statement, and whether the quotes hold the answer: as `extract::pick` does."""
    ranked = sorted(((dot(rank, one[0]), one) for one in statements), key=lambda pair: -pair[0])
    if not ranked:
        return None, False, 0
    top, best = ranked[0]
    is_group = lambda one: any(one[0][at] for at in GROUPS)
    if is_group(best):
        return best[0], best[1], len(best[2])
    picked, chars = [], 0
    for z, one in ranked:
        if len(picked) == MAX_QUOTES or z < top - MAX_GAP and chars >= MIN_CHARS:
            break
        if not is_group(one):
            picked.append(one)
            chars += len(one[2])
    return best[0], any(one[1] for one in picked), chars


def fit_confidence(outcomes, words):
    """Newton's method over (set, answerable, features, right)."""
    per_set = defaultdict(int)
    for name, answerable, _, _ in outcomes:
        per_set[name, answerable] += 1
    mean = sum(per_set.values()) / len(per_set)
    size = len(NAMES) + 1
    rows = []
    for name, answerable, features, right in outcomes:
        row = [1.0] + list(features)
        if words:
            for at in MEANING:
                row[at + 1] = 0.0
        rows.append((mean * weight_of(name, PATTERNS_SURE) / per_set[name, answerable], row, right))
    # A weight that leaves its bounds is fixed there, and the others are fitted again.
    fixed = {}
    while True:
        weights = newton(rows, size, fixed)
        outside = {}
        for name, (low, high) in SURE_BOUNDS.items():
            index = NAMES.index(name) + 1
            if index not in fixed and not low <= weights[index] <= high:
                outside[index] = low if weights[index] < low else high
        if not outside:
            return weights
        fixed.update(outside)


def newton(rows, size, fixed):
    weights = [fixed.get(index, 0.0) for index in range(size)]
    for _ in range(12):
        gradient = [RIDGE * weight * (index > 0) for index, weight in enumerate(weights)]
        hessian = [[RIDGE * (i == j) + 1e-6 * (i == j) for j in range(size)] for i in range(size)]
        for share, row, right in rows:
            z = max(-30.0, min(30.0, dot(weights, row)))
            p = 1 / (1 + math.exp(-z))
            slope, curve = share * (p - right), share * p * (1 - p)
            used = [(index, x) for index, x in enumerate(row) if x and index not in fixed]
            for i, x in used:
                gradient[i] += slope * x
                line = hessian[i]
                for j, y in used:
                    line[j] += curve * x * y
        for index in fixed:
            gradient[index] = 0.0
        step = solve(hessian, gradient)
        weights = [weight - change for weight, change in zip(weights, step)]
        if max(abs(change) for change in step) < 1e-4:
            break
    return weights


def solve(matrix, vector):
    rows = [line[:] + [value] for line, value in zip(matrix, vector)]
    size = len(rows)
    for at in range(size):
        pivot = max(range(at, size), key=lambda index: abs(rows[index][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for other in range(size):
            if other != at and rows[other][at]:
                factor = rows[other][at] / rows[at][at]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[at])]
    return [rows[at][size] / rows[at][at] for at in range(size)]


def outcomes_of(rank, questions):
    found = []
    for name, kind, _, statements in questions:
        best, right, _ = answer(rank, statements)
        if best is not None:
            found.append((name, kind == "answerable", best, right and kind == "answerable"))
    return found


def fit(questions, words=False):
    rank = fit_rank(questions, words)
    return rank, fit_confidence(outcomes_of(rank, questions), words)


def report(questions, models, words):
    """Figures of each set; `models[fold]` was fitted without that fold."""
    table = defaultdict(lambda: defaultdict(list))
    for name, kind, identity, statements in questions:
        rank, confidence = models[fold_of(identity)]
        best, right, chars = answer(rank, statements)
        right = right and kind == "answerable"
        if best is None:
            p = 0.0
        else:
            features = [0.0 if words and at in MEANING else x for at, x in enumerate(best)]
            z = max(-30.0, min(30.0, dot(confidence, [1.0] + features)))
            p = 1 / (1 + math.exp(-z))
        table[name][kind].append((p, right, chars))
    for name, kinds in sorted(table.items()):
        cells = []
        for kind, rows in sorted(kinds.items()):
            if not rows:
                continue
            count = len(rows)
            given = [row for row in rows if row[0] >= MIN_CONFIDENCE]
            sure = sum(p > SURE and not right for p, right, _ in rows)
            if kind == "answerable":
                held = sum(right for _, right, _ in given) / count
                ceiling = sum(right for _, right, _ in rows) / count
                mean = sum(chars for *_, chars in given) / max(len(given), 1)
                cells.append(f"in answer {held:.3f} (of {ceiling:.3f}) {mean:.0f} characters, "
                             f"sure and wrong {sure / count:.3f}")
            else:
                cells.append(f"{kind}: declined {1 - len(given) / count:.3f}, sure {sure / count:.3f}")
        answerable = len(kinds["answerable"])
        others = sum(len(rows) for rows in kinds.values()) - answerable
        bins = defaultdict(float)
        for kind, rows in kinds.items():
            share = 0.5 / (answerable if kind == "answerable" else others)
            for p, right, _ in rows:
                bins[min(int(p * 10), 9)] += share * (p - right)
        error = sum(abs(gap) for gap in bins.values())
        print(f"  {name}: {'; '.join(cells)}; calibration error {error:.3f}")


def fold_of(identity):
    return sum(identity.encode()) % 2


def rust(name, doc, bias, weights):
    numbers = ",\n        ".join(f"{weight:.3f}" for weight in weights)
    return (f"/// {doc}\npub(super) const {name}: Weights = Weights {{\n    bias: {bias:.3f},\n"
            f"    features: [\n        {numbers},\n    ],\n}};\n")


def main():
    runs, out = sys.argv[1:]
    questions = read(runs)
    parts = [
        "//! Weights that `models/ask/fit.py` wrote, in the order of [`super::features::NAMES`]. Do not edit: fit\n"
        "//! again.\n\nuse super::features::Weights;\n"
    ]
    for words in (False, True):
        print("by words only" if words else "with meaning")
        models = [fit([one for one in questions if fold_of(one[2]) != fold], words) for fold in (0, 1)]
        report(questions, models, words)
        rank, confidence = fit(questions, words)
        for name, weight, sure in zip(NAMES, rank, confidence[1:]):
            print(f"    {name:14} {weight:8.3f} {sure:8.3f}")
        suffix, how = ("_WORDS", "by words only") if words else ("", "with meaning")
        parts.append(rust(f"RANK{suffix}", f"Ranks statements {how}.", 0.0, rank))
        parts.append(rust(f"CONFIDENCE{suffix}", f"The log-odds that an answer {how} is right.",
                          confidence[0], confidence[1:]))
    Path(out).write_text("\n".join(parts))


main()
