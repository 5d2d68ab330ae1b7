#!/usr/bin/env python3
"""Trains the weights that judge bookmarks: sentiment, action and category. Needs numpy.

  cargo run --example bookmark_features -- RECORDS.jsonl > features.jsonl
  training/bookmarks.py features.jsonl LABELS.jsonl [--write assets/bookmarks.weights.json]

RECORDS.jsonl are the bookmarks without labels; LABELS.jsonl has for the same ids the accepted values
of `category`, `sentiment` and `action` (lists, the best first) and `lang`. The labels stay outside
the repository; the weights are the same for the same input.

It prints, for every field and language, how many verdicts are accepted: on the labels themselves and
in cross-validation (10 folds, 3 shuffles). Confidence is calibrated on cross-validated verdicts.
"""
import argparse, json
import numpy as np

SEED = 20261116
FOLDS, SHUFFLES = 10, 3
SENTIMENTS = ['positive', 'neutral', 'negative']
ACTIONS = ['read_later', 'try_tool', 'reference', 'share', 'archive']
# The penalty for large weights: on the vector, on the features, on evidence that all categories share.
PENALTY = {
    'sentiment': (10.0, 4.0),
    'action': (6.0, 1.0),
    'category': (2.0, 0.02),
}
# How much a language other than English counts: there are four times as many English labels.
OTHER_LANGUAGES = 2.0
# What the first accepted value counts beside the others.
FIRST = 0.7


def targets(labels, field, classes):
    """The accepted classes of each item, as a distribution."""
    out = np.zeros((len(labels), len(classes)))
    for row, item in zip(out, labels):
        accepted = [classes.index(value) for value in item[field] if value in classes]
        row[accepted] = (1 - FIRST) / max(1, len(accepted) - 1)
        row[accepted[0]] = FIRST if len(accepted) > 1 else 1.0
    return out


def softmax(scores):
    scores = scores - scores.max(axis=1, keepdims=True)
    scores = np.exp(scores)
    return scores / scores.sum(axis=1, keepdims=True)


def minimise(gradient, size, steps=300, rate=0.08):
    """Adam over all examples at once: deterministic, and the problems are convex."""
    weights, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for step in range(1, steps + 1):
        g = gradient(weights)
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        pace = rate * min(1.0, 4.0 * (1 - step / (steps + 1)))
        weights -= pace * (mean / (1 - 0.9 ** step)) / (np.sqrt(square / (1 - 0.999 ** step)) + 1e-8)
    return weights


class Linear:
    """A score for each class: a row of weights over the vector and the features."""

    def __init__(self, penalty):
        self.penalty = penalty

    def fit(self, data, truth, weight):
        x, dims = data['x'], data['dims']
        penalty = np.full(x.shape[1], self.penalty[1])
        penalty[:dims] = self.penalty[0]
        penalty[-1] = 0.0
        classes = truth.shape[1]

        def gradient(flat):
            w = flat.reshape(classes, -1)
            error = (softmax(x @ w.T) - truth) * weight[:, None]
            return (error.T @ x + penalty * w).ravel()
        self.w = minimise(gradient, classes * x.shape[1]).reshape(classes, -1)
        return self

    def scores(self, data):
        return data['x'] @ self.w.T


class Categories:
    """Evidence that counts the same for every category, and, if wanted, a row over the vector."""

    def __init__(self, penalty, use, vector):
        self.penalty, self.use, self.vector = penalty, np.array(use, float), vector

    def parts(self, flat, classes, kinds, dims):
        shared, other = flat[:kinds], flat[kinds]
        rest = flat[kinds + 1:].reshape(classes, dims + 1) if self.vector else None
        return shared, other, rest

    def fit(self, data, truth, weight):
        evidence, v = data['evidence'] * self.use, data['x'][:, :data['dims']]
        n, classes, kinds = evidence.shape
        dims, at = v.shape[1], data['other']
        ones = np.hstack([v, np.ones((n, 1))])
        size = kinds + 1 + (classes * (dims + 1) if self.vector else 0)

        def gradient(flat):
            shared, other, rest = self.parts(flat, classes, kinds, dims)
            scores = evidence @ shared
            scores[:, at] += other
            if rest is not None:
                scores = scores + ones @ rest.T
            error = (softmax(scores) - truth) * weight[:, None]
            g = [np.einsum('nc,nck->k', error, evidence) + self.penalty[1] * shared,
                 [error[:, at].sum() + self.penalty[1] * other]]
            if rest is not None:
                penalty = np.full(dims + 1, self.penalty[0])
                penalty[-1] = 1.0
                g.append((error.T @ ones + penalty * rest).ravel())
            return np.concatenate(g)
        flat = minimise(gradient, size)
        self.shared, self.other, self.rest = self.parts(flat, classes, kinds, dims)
        self.at = at
        return self

    def scores(self, data):
        scores = (data['evidence'] * self.use) @ self.shared
        scores[:, self.at] += self.other
        if self.rest is not None:
            dims = data['dims']
            scores = scores + data['x'][:, :dims] @ self.rest[:, :dims].T + self.rest[:, dims]
        return scores


def part(data, rows):
    return {**data, 'x': data['x'][rows], 'evidence': data['evidence'][rows]}


def folds(labels):
    """Which fold each item is in, for every shuffle; languages are spread evenly."""
    random = np.random.default_rng(SEED)
    for _ in range(SHUFFLES):
        fold = np.zeros(len(labels), int)
        for lang in sorted({item['lang'] for item in labels}):
            rows = [n for n, item in enumerate(labels) if item['lang'] == lang]
            fold[random.permutation(rows)] = np.arange(len(rows)) % FOLDS
        yield fold


def cross_validate(make, data, truth, weight, labels):
    """Probabilities of every item from models that have not seen it, one table a shuffle."""
    for fold in folds(labels):
        out = np.zeros_like(truth)
        for number in range(FOLDS):
            seen, unseen = fold != number, fold == number
            model = make().fit(part(data, seen), truth[seen], weight[seen])
            out[unseen] = softmax(model.scores(part(data, unseen)))
        yield out


def calibrate(probability, right):
    """Slope and offset of the log-odds of the best class, by logistic regression."""
    p = np.clip(probability, 1e-4, 1 - 1e-4)
    x = np.stack([np.log(p / (1 - p)), np.ones(len(p))], axis=1)

    def gradient(w):
        return x.T @ (1 / (1 + np.exp(-x @ w)) - right) + np.array([0.1, 0.1]) * (w - [1, 0])
    slope, offset = minimise(gradient, 2, steps=1500)
    return {'slope': round(float(slope), 3), 'offset': round(float(offset), 3)}


def confidence(calibration, probability):
    p = np.clip(probability, 1e-4, 1 - 1e-4)
    return 1 / (1 + np.exp(-(calibration['slope'] * np.log(p / (1 - p)) + calibration['offset'])))


def calibration_error(sure, right):
    bins = np.minimum(9, (sure * 10 + 1e-6).astype(int))
    return sum((bins == b).mean() * abs(sure[bins == b].mean() - right[bins == b].mean())
               for b in range(10) if (bins == b).any())


def train(name, make, data, labels, field, classes):
    truth = targets(labels, field, classes)
    accepted = truth > 0
    lang = np.array([item['lang'] for item in labels])
    weight = np.where(lang == 'en', 1.0, OTHER_LANGUAGES)
    rows = np.arange(len(labels))
    tables = list(cross_validate(make, data, truth, weight, labels))
    right = np.stack([accepted[rows, table.argmax(1)] for table in tables])
    best = np.stack([table.max(1) for table in tables])
    calibration = calibrate(best.ravel(), right.ravel())
    model = make().fit(data, truth, weight)
    fitted = softmax(model.scores(data))
    own = accepted[rows, fitted.argmax(1)]

    def by_language(values):
        groups = [np.ones(len(lang), bool)] + [lang == l for l in ('en', 'ru', 'ja')]
        return ' '.join('%5.1f' % (100 * values[..., g].mean()) for g in groups)
    print('%-22s cross-validated %s | on the labels %s | calibration error %.3f, %.3f' % (
        name, by_language(right), by_language(own),
        np.mean([calibration_error(confidence(calibration, b), r) for b, r in zip(best, right)]),
        calibration_error(confidence(calibration, fitted.max(1)), own)))
    return model, calibration


def rounded(table, digits=4):
    return np.round(np.asarray(table, float), digits).tolist()


def load(features, labels):
    with open(features, encoding='utf-8') as file:
        head = json.loads(file.readline())
        examples = {e['id']: e for e in map(json.loads, file)}
    with open(labels, encoding='utf-8') as file:
        labels = [json.loads(line) for line in file if line.strip()]
    # Posts lose the `tw.` of their ids when they are imported.
    key = lambda item: item['id'] if item['id'] in examples else item['id'].removeprefix('tw.')
    examples = [examples[key(item)] for item in labels]
    ones = np.ones((len(examples), 1))
    vectors = np.array([e['vector'] for e in examples])
    data = {
        'x': np.hstack([vectors, np.array([e['features'] for e in examples]), ones]),
        'evidence': np.array([e['categories'] for e in examples]),
        'dims': vectors.shape[1],
        'other': head['categories'].index('Other'),
    }
    return head, data, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('features')
    parser.add_argument('labels')
    parser.add_argument('--write')
    args = parser.parse_args()
    head, data, labels = load(args.features, args.labels)
    dims, names = data['dims'], head['categories']
    weights = {'model': head['model'], 'dimensions': dims, 'features': head['features']}
    print('%d labelled; accepted in %%: all en ru ja' % len(labels))
    for field, classes in (('sentiment', SENTIMENTS), ('action', ACTIONS)):
        model, calibration = train(field, lambda: Linear(PENALTY[field]), data, labels, field, classes)
        weights[field] = {
            'classes': classes,
            'vector': rounded(model.w[:, :dims]),
            'features': rounded(model.w[:, dims:-1]),
            'bias': rounded(model.w[:, -1]),
            'confidence': calibration,
        }
    category = {'classes': names}
    for name, use, vector in (('beside_vector', (1, 1, 1, 1), True),
                              ('with_nearness', (1, 1, 1, 1), False),
                              ('words_only', (1, 1, 1, 0), False)):
        model, calibration = train('category ' + name, lambda: Categories(PENALTY['category'], use, vector),
                                   data, labels, 'category', names)
        words, share, site, near = rounded(model.shared)
        category[name] = {'words': words, 'share': share, 'site': site, 'near': near,
                          'other': rounded(model.other), 'confidence': calibration}
        if vector:
            category['vector'] = rounded(model.rest[:, :dims])
            category['bias'] = rounded(model.rest[:, dims])
    weights['category'] = category
    if args.write:
        with open(args.write, 'w', encoding='utf-8') as file:
            json.dump(weights, file, ensure_ascii=False, separators=(',', ':'))
            file.write('\n')


if __name__ == '__main__':
    main()
