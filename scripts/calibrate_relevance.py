#!/usr/bin/env python3
"""calibrate_relevance.py - fits the weights of `relevance` (src/search/relevance.rs): how probable it is that a result
answers the question, given its evidence.

  notewell eval SET... --mode hybrid --mode lexical --foreign OTHER... --run-out RUNS --explain --keep KEEP
  python3 scripts/calibrate_relevance.py RUNS... SETS

RUNS hold `SET.hybrid.tsv` (questions of a set against its own documents) and `SET.OTHER.hybrid.tsv` (questions of
another set, which have no answer there); SETS is the folder of the sets, for their judgements. Half of the questions
are fitted, chosen by a hash of their ids; the table is of the other half. Plain Python, no packages.
"""
import glob, math, os, sys, zlib

DEPTH, BINS, RIDGE = 10, 10, 1e-2


def features(cosine, share, own, whole):
    """What src/search/relevance.rs computes: keep both in step."""
    return [1.0, cosine, share, own, math.log1p(whole)]


def case(cosine, whole, abroad):
    """Which weights a result has: by what is known of it, and whether it is in the language of the question."""
    if cosine is None:
        return 'words'
    return ('both' if whole > 0 else 'meaning') + (' abroad' if abroad else '')


CASES = ['both', 'both abroad', 'meaning', 'meaning abroad', 'words']


def read(path, judged):
    """(question, case, features, relevant) of the best results of every question."""
    rows, count = [], {}
    for line in open(path, encoding='utf-8'):
        question, document, words, whole, share, cosine, own, place, abroad, kind, score = line.rstrip('\n').split('\t')
        count[question] = count.get(question, 0) + 1
        if count[question] > DEPTH:
            continue
        cosine, whole = None if cosine == '-' else float(cosine), float(whole)
        x = features(cosine or 0.0, float(share), float(own), whole)
        rows.append((question, case(cosine, whole, abroad == '1'), x, judged.get(question, {}).get(document, 0) > 0))
    return rows


def judgements(path):
    judged = {}
    for line in open(path, encoding='utf-8'):
        fields = line.split()
        try:
            judged.setdefault(fields[0], {})[fields[-2]] = float(fields[-1])
        except (ValueError, IndexError):
            pass
    return judged


def solve(a, b):
    n = len(b)
    m = [row[:] + [b[i]] for i, row in enumerate(a)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[p] = m[p], m[i]
        for r in range(n):
            if r != i:
                f = m[r][i] / m[i][i]
                m[r] = [x - f * y for x, y in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def fit(rows):
    """Logistic regression by Newton's method, with a small ridge."""
    n = len(rows[0][2])
    w = [0.0] * n
    for _ in range(25):
        g, h = [-RIDGE * v for v in w], [[RIDGE * (i == j) for j in range(n)] for i in range(n)]
        for _, _, x, y in rows:
            p = 1 / (1 + math.exp(-max(-30, min(30, sum(a * b for a, b in zip(w, x))))))
            d, v = y - p, max(p * (1 - p), 1e-6)
            for i in range(n):
                g[i] += d * x[i]
                vx = v * x[i]
                for j in range(n):
                    h[i][j] += vx * x[j]
        step = solve(h, g)
        w = [a + b for a, b in zip(w, step)]
        if max(map(abs, step)) < 1e-6:
            break
    return w


def shift(w, rows):
    """The weights with the intercept at which the mean probability is the share of relevant results."""
    low, high, right = -30.0, 30.0, sum(y for *_, y in rows)
    for _ in range(60):
        middle = (low + high) / 2
        if sum(probability([middle] + w[1:], x) for _, _, x, _ in rows) < right:
            low = middle
        else:
            high = middle
    return [low] + w[1:]


def probability(w, x):
    return 1 / (1 + math.exp(-sum(a * b for a, b in zip(w, x))))


def table(rows, weights):
    bins = [[0, 0.0, 0] for _ in range(BINS)]
    for _, name, x, y in rows:
        p = probability(weights[name], x)
        b = bins[min(int(p * BINS), BINS - 1)]
        b[0] += 1; b[1] += p; b[2] += y
    error = sum(abs(b[1] - b[2]) for b in bins) / max(1, sum(b[0] for b in bins))
    return bins, error


def main():
    *runs, sets = sys.argv[1:]
    rows = []
    for path in sorted(path for folder in runs for path in glob.glob(os.path.join(folder, '*.tsv'))):
        parts = os.path.basename(path).split('.')[:-2]
        judged = judgements(os.path.join(sets, parts[0], 'qrels.tsv')) if len(parts) == 1 else {}
        rows += read(path, judged)
    train = [r for r in rows if zlib.crc32(r[0].encode()) % 2 == 0]
    test = [r for r in rows if zlib.crc32(r[0].encode()) % 2 == 1]
    weights = {name: fit([r for r in train if r[1] == name]) for name in CASES if name != 'meaning'}
    # Too few results in the language of the question have none of its words and are right: they get the slope of
    # those in other languages, and an intercept of their own.
    weights['meaning'] = shift(weights['meaning abroad'], [r for r in train if r[1] == 'meaning'])
    for name in CASES:
        print(name, [round(v, 3) for v in weights[name]], sum(r[1] == name for r in train), 'results')
    for name in ['unseen'] + CASES:
        part = [r for r in test if name in ('unseen', r[1])]
        bins, error = table(part, weights)
        print(f'{name}: calibration error {error:.4f} of {len(part)} results')
        for n, p, y in bins:
            if n:
                print(f'  {p / n:.3f}  {y / n:.3f}  {n}')


if __name__ == '__main__':
    main()
