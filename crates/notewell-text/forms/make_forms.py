#!/usr/bin/env python3
"""make_forms.py - makes forms-ru.tsv and forms-en.tsv for Notewell: which other stem a word is also found under.

  pip install pymorphy3==2.0.6 pymorphy3-dicts-ru==2.4.417150.4580142 wordfreq==3.1.1 PyStemmer==3.1.0
  apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb wn      # WordNet 3.0
  python3 make_forms.py --wordnet wn/usr/share/wordnet --out . [--lang ru|en|both] [--cut 1e-8] [--adverbs]

A file is lines of `=stem TAB key` and `word TAB key[ key]`, sorted by bytes, `#` lines first. A word, folded as the
product folds it (NFKC, lower case, no accents, е for ё), is looked up as a word, then its Snowball stem with `=`.
Deterministic: the same packages give the same bytes. About 3 minutes and a few GB for Russian.
"""
import argparse, gzip, os, re, sys
from collections import Counter, defaultdict
import Stemmer

EPS = 1e-10          # what a form weighs that nobody writes


def stemmer(lang):
    st, seen = Stemmer.Stemmer(lang), {}
    def stem(w):
        r = seen.get(w)
        if r is None:
            r = seen[w] = st.stemWord(w)
        return r
    return stem


def fold_ru(w):
    return w.lower().replace('ё', 'е')


# ------------------------------------------------------------------------------------------------ Russian
# N noun, V verb with its participles, A adjective and adverb, P pronoun, Q numeral, X the rest
GROUP = dict(NOUN='N', INFN='V', VERB='V', GRND='V', PRTF='V', PRTS='V', ADJF='A', ADJS='A', COMP='A', ADVB='A',
             PRED='A', NPRO='P', NUMR='Q')
# Words that only look like kin of what shares their stem.
UNRELATED = {'любой', 'деть', 'другой', 'лечь'}
# Forms whose reading the corpus gets wrong, or that are best left alone.
STAY = {'уже', 'суть', 'есть', 'велик', 'велика', 'велико', 'велики'}
NO_PAIR = ('взывать', 'унывать', 'бывать', 'знавать', 'ставать')
CYRILLIC = re.compile('^[а-я]+$')


class Russian:
    def __init__(self, log):
        self.log, self.S = log, stemmer('russian')

    def read(self):
        """Every form of the dictionary: form -> {lemma: [readings, P in the corpus, parts of speech, marks]}."""
        import pymorphy3, wordfreq
        m = pymorphy3.MorphAnalyzer(lang='ru')
        known = m.prob_estimator.p_t_given_w
        self.freq = Counter()
        for w, f in wordfreq.get_frequency_dict('ru', 'large').items():
            w = fold_ru(w)
            if CYRILLIC.match(w):
                self.freq[w] += f
        ids, lemmas, forms, self.aspects = {}, [], {}, defaultdict(set)
        marked = ('Arch', 'Infr', 'Slng', 'Dist', 'Erro', 'Surn', 'Abbr', 'Init', 'Cmp2', 'impr')
        tags = {}
        for raw, tag, nf, para, _ in m.dictionary.iter_known_words():
            form = fold_ru(raw)
            if not CYRILLIC.match(form):
                continue
            t = tags.get(tag)
            if t is None:
                text = str(tag)
                pos = re.split('[, ]', text)[0]
                t = tags[tag] = (pos, frozenset(x for x in marked if x in text), re.split('[, ]', text)[1:2])
            pos, marks, second = t
            key = (fold_ru(nf), para, GROUP.get(pos, 'X'))
            i = ids.get(key[:2])
            if i is None:
                i = ids[key[:2]] = len(lemmas)
                lemmas.append((key[2], key[0]))
            if pos == 'INFN':
                self.aspects[form].update(second)
            e = forms.setdefault(form, {}).setdefault(i, [0, 0.0, set(), set()])
            e[0] += 1
            e[1] += known.prob(raw, tag) + (known.prob(form, tag) if form != raw else 0.0)
            e[2].add(pos)
            e[3] |= marks
        self.log(f'{len(forms)} forms, {len(lemmas)} lemmas')
        self.lemmas, self.forms = lemmas, forms

    def pairs(self, verbs):
        """Imperfective -> the perfective it is made from, by rule, where the dictionary marks both so."""
        asp = self.aspects
        impf = {v for v in verbs if 'impf' in asp.get(v, ())}
        perf = {v for v in verbs if 'perf' in asp.get(v, ())}
        for v in verbs:
            if v not in asp and v + 'ся' in asp:
                (impf if 'impf' in asp[v + 'ся'] else perf).add(v)
        to_it = [('вля', 'в'), ('пля', 'п'), ('бля', 'б'), ('мля', 'м'), ('фля', 'ф'), ('жда', 'д'), ('жа', 'з'),
                 ('жа', 'д'), ('ща', 'ст'), ('ща', 'т'), ('ща', 'ск'), ('ча', 'т'), ('ша', 'с'), ('ска', 'ст'),
                 ('ня', 'н'), ('ля', 'л'), ('ря', 'р'), ('ча', 'ч'), ('жа', 'ж'), ('ша', 'ш'), ('ща', 'щ'),
                 ('за', 'з'), ('та', 'т'), ('ка', 'к'), ('са', 'с'), ('па', 'п')]
        soft = (('ж', 'д'), ('ж', 'з'), ('ш', 'с'), ('ч', 'т'), ('щ', 'ст'), ('вл', 'в'), ('пл', 'п'))
        out = {}
        for v in sorted(impf - perf):
            if not v.endswith('ть') or v.endswith(('метать', 'езжать', 'катать')):
                continue
            b, c = v[:-2], []
            if b.endswith('рыва') and not b.endswith('крыва'):
                continue
            if v.endswith('растать'):
                c.append(v[:-4] + 'ти')
            else:
                if b.endswith('ва') and len(b) >= 4:
                    c.append(b[:-2] + 'ть')                                   # создавать, создать
                c += [b[:-len(x)] + y + 'ить' for x, y in to_it if b.endswith(x) and len(b) >= 4]
                if b.endswith(('ыва', 'ива')) and len(b) >= 6:
                    r = b[:-3]
                    i = r.rfind('а')
                    o = r[:i] + 'о' + r[i + 1:] if i >= 0 else None           # настраивать, настроить
                    c += [o + 'оть'] if o else []
                    c += [r + 'ать', r + 'ить', r + 'ять', r + 'еть']
                    c += [r[:-len(z)] + y + 'ить' for z, y in soft if r.endswith(z)]
                    if o:
                        c += [o + 'ить', o + 'ать', o + 'ять']
                        c += [o[:-len(z)] + y + 'ить' for z, y in soft if o.endswith(z)]
                    c.append(r + 'нуть')
            for p in c:
                if p in perf and p not in impf and p != v:
                    out[v] = p
                    break
        for v in NO_PAIR:
            out.pop(v, None)
        return out

    def classes(self):
        """Lemmas that are to share a key: -ся with its verb, adverbs with their adjective, aspect pairs."""
        verbs = {n for g, n in self.lemmas if g == 'V'}
        base = []
        for g, n in self.lemmas:
            if g == 'V' and n.endswith(('ся', 'сь')) and n[:-2] in verbs:
                n = n[:-2]
            base.append((g, n))
        pairs = self.pairs({n for g, n in base if g == 'V'})
        self.log(f'{len(pairs)} aspect pairs')
        first, self.names = {}, []
        def number(g, n):
            k = (g, self.S(n)) if g == 'A' else (g, n)
            if k not in first:
                first[k] = len(self.names)
                self.names.append((g, n))
            return first[k]
        self.base = {}                                        # lemma -> (EM class, final class)
        em_ids = {c: i for i, c in enumerate(sorted(set(base)))}
        self.em_names = sorted(em_ids, key=em_ids.get)
        self.em_of = [em_ids[c] for c in base]
        self.final_of = [number(g, pairs.get(n, n) if g == 'V' else n) for g, n in self.em_names]

    def readings(self):
        """form -> (frequency, {class: P}, participle classes): P(tag|word) of the corpus, EM over lemma masses."""
        cand = {}
        for form, e in self.forms.items():
            d = {}
            for i, (n, p, pos, marks) in e.items():
                if marks & {'Abbr', 'Init', 'Erro'}:
                    continue
                x = d.setdefault(self.em_of[i], [0, 0.0, set(), set()])
                x[0] += n
                x[1] += p
                x[2] |= pos
                x[3] |= marks
            if d:
                cand[form] = d
        del self.forms
        theta, post = {}, {}
        for turn in range(5):
            new = Counter()
            for form, d in cand.items():
                f = self.freq.get(form, 0) + EPS
                if len(d) == 1:
                    new[next(iter(d))] += f
                    continue
                w = {}
                for c, x in d.items():
                    v = theta.get(c, 0) + EPS if turn else 1.0
                    if x[2] <= {'GRND'} or 'impr' in x[3] and x[2] == {'VERB'} and x[0] == 1:
                        v *= 0.3
                    if x[3] & {'Arch', 'Slng', 'Infr', 'Dist', 'Surn'}:
                        v *= 0.2
                    w[c] = v
                t, seen = sum(w.values()), sum(x[1] for x in d.values())
                w = {c: v / t for c, v in w.items()}
                if seen > 0:
                    w = {c: 0.7 * d[c][1] / seen + 0.3 * w[c] for c in d}
                for c, v in w.items():
                    new[c] += f * v
                if turn == 4:
                    post[form] = w
            theta = new
        self.F = {}
        for form, d in cand.items():
            f = self.freq.get(form, 0)
            e = post.get(form) or {next(iter(d)): 1.0}
            part = {c for c in d if d[c][2] <= {'PRTF', 'PRTS'}}
            if f == 0:
                if part == set(d) or max(theta.get(c, 0) for c in d) < 1e-8:
                    continue
                e = {c: p for c, p in e.items() if not d[c][3] & {'Arch', 'Cmp2'}}
                if not e:
                    continue
            # a participle that is also a word of its own is mostly that word
            word = any(c not in part and self.em_names[c][0] in 'AN' for c in e)
            w, parts = Counter(), set()
            comp = [self.final_of[c] for c in e if d[c][2] <= {'COMP'}]
            for c, p in e.items():
                w[self.final_of[c]] += p * (0.1 if c in part and word else 1.0)
                if c in part:
                    parts.add(self.final_of[c])
            if comp and form not in STAY:                     # лучше, выше: the particle is the comparative
                to = max(comp, key=lambda c: (w[c], -c))
                for c in e:
                    g, n = self.em_names[c]
                    x = self.final_of[c]
                    if x != to and g in 'XA' and n == form and x in w:
                        w[to] += w.pop(x)
            t = sum(w.values())
            self.F[form] = (f, {c: p / t for c, p in w.items()}, parts)
        self.unknown = {w: f for w, f in self.freq.items() if w not in cand}
        self.log(f'{len(self.F)} forms in play, {len(self.unknown)} written words the dictionary has not')

    def masses(self):
        S = self.S
        self.M, self.stems, self.Mt = defaultdict(Counter), defaultdict(Counter), Counter()
        for form, (f, d, _) in self.F.items():
            k = S(form)
            for c, p in d.items():
                x = (f + EPS) * p
                self.M[k][c] += x
                self.stems[c][k] += x
                self.Mt[k] += x
        for form, f in self.unknown.items():
            self.Mt[S(form)] += f

    def kin(self, c, x, t):
        """Whether two words that meet in a stem are one family: отмена and отменить in отмен."""
        (g, n), (h, m) = self.names[c], self.names[x]
        if n in UNRELATED or m in UNRELATED or g == h:
            return False
        if g > h:
            g, n, h, m = h, m, g, n                           # A < N < V
        if len(t) < 3 or not (n.startswith(t) and m.startswith(t)):
            return False
        if len(t) == 3:
            return g == 'N' and h == 'V' and n == t and m == t + 'ить'
        n, m = n[len(t):], m[len(t):]
        verb = ('ить', 'ать', 'ять', 'еть', 'ировать', 'овать')
        if g == 'A' and h == 'V':
            return m in verb and n in ('ый', 'ий', 'ой', 'ный', 'ной', 'о', 'но') or m in ('ть', 'ь') and n in ('ый', 'нный')
        if g == 'N' and h == 'V':
            return m in verb and n in ('', 'а', 'я', 'о', 'ь', 'ие', 'ье', 'ка') or m in ('ть', 'ь') and n in ('ие', 'ние', 'тие')
        if g == 'A' and h == 'N':
            return (n in ('ный', 'ной', 'но') and m in ('', 'а', 'о', 'ь') or n in ('ий', 'ой') and m in ('а', 'о')
                    or n in ('ый', 'ий', 'ой', 'о', 'ое') and m in ('ость', 'ство', 'ота', 'изна', 'ие', 'ое', 'ые', 'ый', 'ий'))
        return False

    def keys(self):
        """One key a class: the lemma's stem, or where that stem is another word's, a stem that is its own."""
        self.K, self.dropped = {}, set()
        for c, ms in self.stems.items():
            g, nf = self.names[c]
            k = self.K[c] = self.S(nf)
            total = sum(ms.values())
            moved = total - ms.get(k, 0)
            if moved < 3e-9 or self.F.get(nf, (0, {c: 1.0}))[1].get(c, 0) < 0.5:
                continue                                      # one stem; or the lemma itself is read as another word
            memo = {}
            def pure(t):
                if t not in memo:
                    own = ms.get(t, 0) + sum(v for x, v in self.M[t].items() if x != c and self.kin(c, x, t)) if t in self.M else 0.0
                    memo[t] = own / self.Mt[t] if self.Mt.get(t) else 0.0
                return memo[t]
            # журнал, остров, режим, Иван: no ending, and Snowball takes one off all the same
            if g == 'N' and nf != k and ms.get(nf, 0) >= 0.1 * total and pure(nf) >= 0.8 and nf.startswith(k):
                self.K[c] = nf
                continue
            short = len(k) < 3 or len(k) < 4 and len(nf) - len(k) >= 2
            there = self.M[k].items() if k in self.M else ()
            other = max((v for x, v in there if x != c and self.names[x][0] in 'NVA' and not self.kin(c, x, k)), default=0)
            # был and будет must not come down upon быт
            heavy = (other >= 1e-6 and other >= 0.01 * self.Mt[k] and moved >= 0.5 * total
                     and moved >= 5 * self.Mt[k] * (1 - pure(k)))
            if pure(k) >= 0.85 and not short and not heavy:
                continue
            best = None
            if moved >= 0.3 * total or short and moved > 0.1 * total or pure(k) < 0.5:
                def worth(t):
                    return (pure(t) * (ms[t] / total) ** 0.25 * (1.15 if t == k else 1.0)
                            * (0.5 if len(t) < 3 and len(nf) > 3 else 1.0), t) if t in ms else (0.0, t)
                cand = [t for t in ms if t == k or ms[t] >= 0.1 * total or pure(k) < 0.5 and ms[t] >= 0.02 * total]
                if heavy:
                    cand = [t for t in cand if t != k and pure(t) >= 0.9]
                best = max(cand, key=worth, default=k)
                if pure(best) < 0.6 and self.Mt.get(nf, 0) < 0.05 * total and g in 'NV':
                    best = nf                                 # имя: no stem is its own; the word itself is the key
                elif best == k or not (pure(best) > pure(k) + 0.1 or short and pure(best) > 0.6 or heavy):
                    best = None
            if best is not None:
                self.K[c] = best
            elif pure(k) < 0.3:
                self.dropped.add(c)

    def table(self, cut, least=0.5, second=0.2, second_cut=1e-7):
        """-> {stem: key}, {word: keys}. Stems by vote of their forms; words where they differ from their stem."""
        S, want, two = self.S, {}, {}
        votes, mass = defaultdict(Counter), Counter()
        for form, (f, d, parts) in self.F.items():
            s, ks = S(form), Counter()
            for c, p in d.items():
                if c in self.dropped or c in parts:
                    continue                                  # participles follow their stem
                ks[s if self.names[c][0] in 'PX' else self.K[c]] += p
            if not ks:
                continue
            order = sorted(ks.items(), key=lambda t: (-t[1], t[0]))
            k, p = order[0]
            top = max(d, key=d.get)
            if form in STAY or form.startswith('наи') and not self.names[top][1].startswith('наи'):
                k, p, order = s, 1.0, order[:1]
            if len(order) > 1 and order[1][1] >= second and f >= second_cut:
                two[form] = (k, order[1][0])
            if p < least:
                continue
            want[form] = (k, f)
            votes[s][k] += (f + EPS) ** 0.5
            mass[s, k] += f
        for form, f in self.unknown.items():
            votes[S(form)][S(form)] += (f + EPS) ** 0.5
        stems = {}
        for s, v in votes.items():
            k = max(v.items(), key=lambda t: (t[1], t[0] == s, t[0]))[0]
            if k != s and mass[s, k] >= cut:
                stems[s] = k
        words = {}
        for form, (k, f) in want.items():
            if f >= cut and stems.get(S(form), S(form)) != k:
                words[form] = (k,)
        for form, ks in two.items():
            if self.F[form][0] >= cut and set(ks) != {stems.get(S(form), S(form))}:
                words[form] = ks
        return stems, words

    def build(self):
        self.read()
        self.classes()
        self.readings()
        self.masses()
        self.keys()


# ------------------------------------------------------------------------------------------------ English
ALPHA = re.compile('^[a-z]+$')
# Irregular forms that are mostly another word, or too small a word to touch.
APART = set("""are am might may offer ground bit rent dive kent ken data does doing being is be have rover wed wet cost
    cut put set shed spun dove hove rove founded lied outer inner upper lower lighter premises agenda opera stamina
    insignia candelabra bona genii dies pants trousers clothes number later latter former utter other matter sewer
    tinder cooler cleaner steamer fitter planner slicker dealer hitter bummer fit fitted wan wanner lenten raving
    shorn rung pled shod clad laden graven kin felled fells brethren kine cherubim seraphim bade bid bidding hewn mown
    riven cloven""".split())
# Irregular forms that are a word of their own as well: found under both.
BOTH = set("""left saw found felt fell rose lay shot led lit spoke broke stole drove bent lost drunk born leaves lives
    best better worse worst further less media bases axes dice fed wove bore bound wound spat lent mistaken""".split())
OBSCURE = set("""capita cola roma imagines rami soli reis tori leva ora oras sola volte arses syringes kaiser michael bok
    momi organa sterna nova mora cruso oas clove smelt busses noes testes canning manlier manliest gooder bester lastest
    pi mu nu xi chi phi psi eta cos sis les des dis mas pas bis tis lis ques vis res mes ros""".split())
MANUAL = [x.split() for x in """was be|were be|been be|has have|had have|having have|oxen ox|people person|peoples person|
    datum data|farther far|farthest far|furthest far|less little|least little|dice die|media medium|schemata schema|
    memoranda memorandum|bacteria bacterium|pence penny|corpora corpus|genera genus|vertices vertex|indices index|axes axis|bases basis|
    analyses analysis|ellipses ellipsis|worse bad|worst bad|better good|best good|further far""".replace('\n', '').split('|')]
# Spellings that no rule gives, British first.
SPELLINGS = [x.split() for x in """grey gray|metre meter|litre liter|fibre fiber|sabre saber|ochre ocher|mitre miter|programme program|
    aluminium aluminum|sulphur sulfur|sulphate sulfate|sulphide sulfide|sulphuric sulfuric|plough plow|mould mold|
    mouldy moldy|moult molt|moustache mustache|sceptic skeptic|sceptical skeptical|scepticism skepticism|ageing aging|
    judgement judgment|acknowledgement acknowledgment|artefact artifact|cosy cozy|pyjamas pajamas|pyjama pajama|
    yoghurt yogurt|likeable likable|doughnut donut|omelette omelet|adviser advisor|enquiry inquiry|enquire inquire|
    tranquillity tranquility|woollen woolen|jewellery jewelry|jeweller jeweler|fulfil fulfill|fulfilment fulfillment|
    enrol enroll|enrolment enrollment|instal install|instalment installment|skilful skillful|wilful willful|
    manoeuvre maneuver|manoeuvrable maneuverable|counsellor counselor|chilli chili|smoulder smolder|
    carburettor carburetor|councillor councilor|distil distill|dreamt dreamed|learnt learned|burnt burned|spilt spilled|
    leapt leaped|leant leaned|spoilt spoiled|furore furor|phoney phony|gruelling grueling|marvellous marvelous|
    whisky whiskey|sizeable sizable|useable usable|loveable lovable|liveable livable|moveable movable|saleable salable|
    unmistakeable unmistakable|ageism agism|cypher cipher|disc disk|practise practice|licence license|defence defense|
    offence offense|pretence pretense|defences defenses|afterwards afterward|backwards backward|forwards forward|
    upwards upward|downwards downward|inwards inward|outwards outward|tidbit titbit|maths math|behove behoove|
    cauldron caldron|clamour clamor|analogue analog|dialogue dialog|catalogue catalog|epilogue epilog|prologue prolog|
    monologue monolog|favour favor|mediaeval medieval|vapour vapor|demeanour demeanor|endeavour endeavor|parlour parlor|
    rigour rigor|rancour rancor|savour savor|splendour splendor|succour succor|tumour tumor|valour valor|vigour vigor|
    arbour arbor|ardour ardor|armour armor|candour candor|fervour fervor|glamour glamor|odour odor|
    saviour savior""".replace('\n', '').split('|')]


class English:
    def __init__(self, wordnet, log):
        import wordfreq
        self.log, self.dir = log, wordnet
        st = stemmer('english')
        self.S = lambda w: st(w) if len(w) > 2 else w
        self.wf = wordfreq.get_frequency_dict('en', 'large')
        self.F = lambda w: self.wf.get(w, 0.0)
        self.lem, self.syn, self.count, self.exc = defaultdict(set), defaultdict(set), Counter(), []
        for p in ('noun', 'verb', 'adj', 'adv'):
            for line in open(os.path.join(wordnet, 'data.' + p), encoding='latin-1'):
                if line.startswith('  '):
                    continue
                x = line.split(' | ')[0].split()
                for i in range(int(x[3], 16)):
                    w = re.sub(r'\(.*\)', '', x[4 + 2 * i])
                    proper, w = w[0].isupper(), w.lower()
                    if ALPHA.match(w):
                        self.lem[w].add(p + 'P' if proper else p)
                        self.syn[p, x[0]].add(w)
            for line in open(os.path.join(wordnet, p + '.exc')):
                x = line.split()
                if all(ALPHA.match(w) for w in x):
                    self.exc.append((p, x[0], x[1:]))
        for line in open(os.path.join(wordnet, 'cntlist.rev')):
            k, _, n = line.split()
            w, r = k.split('%')
            self.count[w, '_nvaras'[int(r[0])]] += int(n)

    def tags(self, w, pos='nvar'):
        """How often the word was tagged in WordNet's corpus."""
        return sum(self.count[w, p] for p in pos) + (self.count[w, 's'] if 'a' in pos and 's' not in pos else 0)

    def spelling(self):
        """British -> American by rule, where WordNet has both in one synset, or knows one and people write the other."""
        rules = [('our', 'or'), (r'ise\b', 'ize'), (r'ising\b', 'izing'), (r'ised\b', 'ized'), ('isation', 'ization'),
                 (r'iser\b', 'izer'), (r'yse\b', 'yze'), (r'yser\b', 'yzer'), (r'tre\b', 'ter'), (r'bre\b', 'ber'),
                 (r'ogue\b', 'og'), (r'ence\b', 'ense'), ('ae', 'e'), ('oe', 'e'), (r'lling\b', 'ling'),
                 (r'lled\b', 'led'), (r'ller\b', 'ler')]
        together = defaultdict(set)
        for ws in self.syn.values():
            for w in ws:
                together[w] |= ws
        lem, F = self.lem, self.F
        words = {w for w, ps in lem.items() if any(not p.endswith('P') for p in ps)}
        words |= {w for w, f in self.wf.items() if ALPHA.match(w) and f >= 3e-8}
        out = {}
        for w in sorted(words):
            if len(w) < 6 or F(w) < 1e-8:
                continue
            for a, b in rules:
                for m in re.finditer(a, w):
                    v = w[:m.start()] + b + w[m.end():]
                    if v == w or v not in words or F(v) < 1e-8:
                        continue
                    both = w in lem and v in lem
                    if both and v not in together[w]:
                        continue
                    if not both:
                        if a.startswith('is'):
                            if not (v in lem or F(v) >= 1e-7):
                                continue
                        elif a in ('ae', 'oe'):
                            if not ((v in lem or w in lem) and min(F(v), F(w)) >= 3e-8 and w[:3] == v[:3]):
                                continue
                        else:
                            continue
                    out[w] = v
        out.update((w, v) for w, v in SPELLINGS)
        for w in ('prise', 'advise', 'promise', 'exercise', 'premise', 'rise', 'arise', 'likewise'):
            out.pop(w, None)
        return out

    def comparatives(self):
        out, F = {}, self.F
        for w, ps in sorted(self.lem.items()):
            if 'adj' not in ps or not 3 <= len(w) <= 9 or w in ('made', 'all', 'few', 'side', 'six', 'nine'):
                continue
            b = w[:-1] if w.endswith('e') else w
            for e in ('er', 'est'):
                f = b + e
                if f in APART or F(f) < 1e-7 or F(f) > 3 * F(w):
                    continue
                if self.tags(f, 'nv') > 2 or self.tags(w, 'as') <= self.tags(f):
                    continue
                if e == 'er' and self.lem.get(f, set()) & {'noun', 'verb'} and (self.tags(w, 'as') < 30 or self.tags(f, 'n') >= 1):
                    continue
                if e == 'er' and self.tags(w, 'as') < 2 and F(f) < 1e-6:
                    continue
                out[f] = w
        return out

    def adverbs(self):
        """-ily and the like, which Snowball leaves apart from their adjective; off unless asked for."""
        out = {}
        for w, ps in sorted(self.lem.items()):
            if 'adv' not in ps or not w.endswith('ly') or ps & {'verb', 'noun'} or self.F(w) < 1e-7:
                continue
            c = [w[:-2]]
            if w.endswith('ily'):
                c = [w[:-3] + 'y']
            elif w.endswith('lly'):
                c = [w[:-1], w[:-2], w[:-3] + 'le']
            elif w.endswith('uly'):
                c = [w[:-2] + 'e']
            elif w.endswith(('bly', 'ply', 'tly', 'gly', 'dly', 'kly')):
                c = [w[:-1] + 'e', w[:-2]]
            for a in c:
                if 'adj' in self.lem.get(a, ()):
                    out[w] = a
                    break
        for w in 'hardly lately nearly shortly barely scarcely only early family supply reply likely daily weekly monthly yearly'.split():
            out.pop(w, None)
        return out

    def cut_short(self):
        """Words that end in what looks like an ending: gas gases, lens lenses, alias aliases, embed embedded."""
        out, S = {}, self.S
        for w, ps in sorted(self.lem.items()):
            if self.F(w) < 1e-7 or len(w) < 3:
                continue
            if 'noun' in ps and re.search('[^s]s$', w) and not w.endswith('sis') and S(w) != S(w + 'es') and self.F(w + 'es') >= 1e-8 and w + 'es' not in self.lem and w[:-1] not in self.lem:
                out[w] = [w + 'es', w + 'ses']
            if 'verb' in ps and re.search('[^e]ed$', w) and self.S(w) != self.S(w + 'ding') and self.F(w + 'ding') >= 1e-8:
                out[w] = [w + 's', w + 'ded', w + 'ding']
        return out

    def table(self, adverbs=False):
        S, F, lem, tags = self.S, self.F, self.lem, self.tags
        T, rel = {}, {}
        sharing = defaultdict(list)
        for w, f in self.wf.items():
            if ALPHA.match(w) and len(w) > 2:
                sharing[S(w)].append((f, w))
        for w in 'analys paralys catalys hydrolys dialys electrolys pyrolys psychoanalys cryptanalys'.split():
            for x in (S(w + 'is'), S(w[:-1] + 'ze'), S(w + 'e')):
                if x != w:
                    T[x] = w
        for w, v in self.spelling().items():
            a, b = S(w), S(v)
            if a == b or a in T:
                continue
            # is the stem this word's own?
            d = next((i for i, (p, q) in enumerate(zip(w, v)) if p != q), min(len(w), len(v)))
            own = sum(f for f, x in sharing[a] if x.startswith(w[:d + 1]))
            if own >= 0.9 * (sum(f for f, _ in sharing[a]) or 1e-9):
                T[a] = T.get(b, b)
            else:
                rel[w] = (T.get(b, b), False)
        def add(form, lemma):
            k = T.get(S(lemma), S(lemma))
            if F(form) >= 1e-9 and k != T.get(S(form), S(form)):
                rel[form] = (k, form in BOTH)
        for w in sorted(self.wf):
            if w.endswith('men') and len(w) > 4 and w[:-3] + 'man' in lem and ALPHA.match(w) and F(w) >= 1e-8 and w not in lem:
                add(w, w[:-3] + 'man')
        best = {}
        for p, form, ls in self.exc:
            if form in APART and form not in BOTH or form in OBSCURE or p == 'adv' or len(form) < 3 or F(form) < 1e-8:
                continue
            if p == 'noun' and max(F(l) for l in ls) < 0.03 * F(form):
                continue
            code = {'noun': 'n', 'verb': 'v', 'adj': 'as'}[p]
            lemma = max(ls, key=lambda l: tags(l, code) + F(l) * 1e-3)
            there, mine = tags(lemma, code), tags(form)
            share, own = mine / (mine + there + 0.5), lem.get(form, set())
            if form not in BOTH:
                if own & {'noun', 'verb'} and form not in ls and (share >= 0.2 or there == 0) or own and share >= 0.4:
                    continue
            if form not in best or best[form][0] < there:
                best[form] = (there, lemma)
        for form, (_, lemma) in best.items():
            add(form, lemma)
        for form, lemma in self.comparatives().items():
            if form not in rel and form not in best:
                add(form, lemma)
        if adverbs:
            for form, lemma in self.adverbs().items():
                if form not in rel and form not in APART:
                    add(form, lemma)
        for lemma, fs in self.cut_short().items():
            if lemma in rel or lemma in OBSCURE or lemma in APART:
                continue
            for form in fs + [lemma]:
                if F(form) >= 1e-9 and T.get(S(form), S(form)) != lemma and form not in rel:
                    rel[form] = (lemma, False)
        for form, lemma in MANUAL:
            add(form, lemma)
        plain, votes = dict(T), defaultdict(Counter)
        for s in {S(w) for w in rel}:
            for f, w in sharing[s]:
                k = plain.get(s, s) if w not in rel else '+' if rel[w][1] else rel[w][0]
                votes[s][k] += f ** 0.5
        for s, v in sorted(votes.items()):
            k = max(v.items(), key=lambda t: (t[1], t[0]))[0]
            if k not in (s, '+'):
                T[s] = k
        for s in sorted(T):                                   # a key is final: no entry leads on
            for _ in range(5):
                if T[s] in T and T[T[s]] != T[s]:
                    T[s] = T[T[s]]
        T = {s: k for s, k in T.items() if s != k}
        last = lambda k, own: k if k == own else T.get(k, k)
        words = {}
        for form, (k, both) in rel.items():
            now = T.get(S(form), S(form))
            ks = tuple(dict.fromkeys([now, last(k, S(form))] if both else [last(k, S(form))]))
            if ks != (now,):
                words[form] = ks
        for s in votes:
            if s in T and plain.get(s, s) != T[s]:
                for f, w in sharing[s]:
                    if w not in rel and w in lem and f >= 3e-8:
                        words.setdefault(w, (plain.get(s, s),))
        return T, words


# ------------------------------------------------------------------------------------------------ writing
HEAD = {
    'ru': '# Russian stems and words that are also found under another stem. CC BY-SA 4.0. Adapted from the dictionary of\n'
          '# OpenCorpora (opencorpora.org, revision 417150, CC BY-SA 3.0) as packed in pymorphy3-dicts-ru; chosen by the word\n'
          '# frequencies of wordfreq 3.1.1 (Robyn Speer, CC BY-SA 4.0). Made by make_forms.py; see README.md.\n',
    'en': '# English stems and words that are also found under another stem. Made from WordNet 3.0, Copyright 2006 by Princeton\n'
          '# University, all rights reserved (WordNet licence in README.md); chosen by the word frequencies of wordfreq 3.1.1\n'
          '# (Robyn Speer, CC BY-SA 4.0). This table: CC BY-SA 4.0. Made by make_forms.py; see README.md.\n',
}


def render(lang, stems, words):
    lines = [f'={s}\t{k}' for s, k in stems.items()] + [f'{w}\t{" ".join(ks)}' for w, ks in words.items()]
    return HEAD[lang] + ''.join(l + '\n' for l in sorted(lines, key=lambda l: l.split('\t')[0].encode()))


def write(path, text):
    """Writes PATH.gz without a date, so that the same table gives the same bytes."""
    data = text.encode()
    with open(path + '.gz', 'wb') as f, gzip.GzipFile('', 'wb', 9, f, mtime=0) as packed:
        packed.write(data)
    return len(data), os.path.getsize(path + '.gz')


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--wordnet'); a.add_argument('--out', default='.')
    a.add_argument('--lang', choices=('ru', 'en', 'both'), default='both')
    a.add_argument('--cut', type=float, action='append', help='least frequency of a form (may be given several times)')
    a.add_argument('--adverbs', action='store_true')
    o = a.parse_args()
    log = lambda s: print(s, file=sys.stderr, flush=True)
    if o.lang != 'ru':
        stems, words = English(o.wordnet, log).table(o.adverbs)
        log(f'en: {len(stems)} stems, {len(words)} words, bytes raw/gz {write(os.path.join(o.out, "forms-en.tsv"), render("en", stems, words))}')
    if o.lang != 'en':
        ru = Russian(log)
        ru.build()
        for cut in o.cut or [1e-8]:
            stems, words = ru.table(cut)
            name = 'forms-ru.tsv' if not o.cut or len(o.cut) == 1 else f'forms-ru-{cut:g}.tsv'
            log(f'ru {cut:g}: {len(stems)} stems, {len(words)} words, bytes raw/gz {write(os.path.join(o.out, name), render("ru", stems, words))}')


if __name__ == '__main__':
    main()
