"""Makes judged questions about lists, tables and definitions from the documents of a set.

    python3 models/ask/sets.py SET OUT

SET is a folder with `docs.jsonl.gz`. OUT becomes a set for `notewell eval --mode ask`: at most
MAX_DOCUMENTS documents, and for each kind at most MAX_QUESTIONS questions whose answers stand in
them: an entry of a list that a heading names, a cell of a table, the first sentence of a section
that defines its title. The questions are patterns, so that they teach how lists, tables and
definitions look, not how people ask.
"""

import gzip
import json
import random
import re
import sys
from pathlib import Path

MAX_DOCUMENTS = 250
MAX_QUESTIONS = 90

ASK = {
    "en": {
        "list": "What are the {heading} of {title}?",
        "plain": "{heading}: {title}?",
        "table": "What is the {column} of {row}?",
        "definition": "What is {title}?",
        "copula": r"^(?:an? |the )?{title}(?: \([^)]*\))? (?:is|are|refers to|means) (.+)",
    },
    "ru": {
        "list": "Какие {heading}: {title}?",
        "plain": "{heading} — {title}?",
        "table": "{row}: {column}?",
        "definition": "Что такое {title}?",
        "copula": r"^{title}(?: \([^)]*\))? ?(?:—|-|–) (?:это )?(.+)",
    },
    "ja": {
        "list": "{title}の{heading}は何ですか？",
        "plain": "{title}の{heading}は？",
        "table": "{row}の{column}は何ですか？",
        "definition": "{title}とは何ですか？",
        "copula": r"^{title}(?:（[^）]*）)?(?:とは|は)、?(.+)",
    },
}
MARK = re.compile(r"[*_`]|\[([^\]]*)\]\([^)]*\)|\{\{[^}]*\}\}")


def plain(text):
    return " ".join(MARK.sub(lambda match: match.group(1) or "", text).split())


def sections(text, title):
    """Heading and lines of each section."""
    heading, lines, fenced = title, [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        match = None if fenced else re.match(r"#{1,4} +(.+?)\s*(?:\{#.*\})?$", line)
        if match:
            yield heading, lines
            heading, lines = plain(match.group(1)), []
        elif not fenced:
            lines.append(line)
    yield heading, lines


def lists(lines):
    run = []
    for line in lines + [""]:
        match = re.match(r"(?:[-*+]|\d+[.)]) +(.+)$", line)
        if match:
            run.append(plain(match.group(1)))
        elif line.strip() == "" or not line.startswith(" "):
            if 3 <= len(run) <= 10 and all(4 <= len(item) <= 70 for item in run):
                yield run
            run = []


def tables(lines):
    for at, line in enumerate(lines):
        if at and re.fullmatch(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*", line) and "|" in lines[at - 1]:
            cells = lambda row: [plain(cell) for cell in row.strip().strip("|").split("|")]
            head, rows = cells(lines[at - 1]), []
            for row in lines[at + 1:]:
                if "|" not in row:
                    break
                rows.append(cells(row))
            yield head, [row for row in rows if len(row) == len(head)]


def questions(document):
    """Kind, question and answer strings."""
    ask = ASK[document["lang"]]
    title = document["title"].split(" - ")[0].strip()
    for heading, lines in sections(document["text"], title):
        if heading != title and 3 <= len(heading) < 50:
            for items in lists(lines):
                form = random.choice(["list", "plain"])
                yield "list", ask[form].format(heading=heading, title=title), [items[len(items) // 2]]
                break
        for head, rows in tables(lines):
            if len(rows) < 2:
                continue
            row = random.choice(rows)
            column = random.randrange(1, len(row)) if len(row) > 1 else 0
            if column and 3 <= len(row[column]) <= 60 and 2 <= len(row[0]) <= 40 and head[column]:
                asked = ask["table"].format(column=head[column], row=row[0])
                if row[column] not in asked:
                    yield "table", asked, [row[column]]
        name = heading
        body = plain(" ".join(line for line in lines[:6]))
        match = re.match(ask["copula"].format(title=re.escape(name)), body, re.I)
        if match and len(name) < 30 and len(match.group(1)) > 30:
            yield "definition", ask["definition"].format(title=name), [match.group(1)[:24]]


def main():
    random.seed(7)
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    file = source / "docs.jsonl.gz"
    if file.read_bytes()[:2] != b"\x1f\x8b":
        file = source / file.read_text().strip()
    documents = [json.loads(line) for line in gzip.open(file, "rt")]
    documents = [one for one in documents if one["lang"] in ASK and one.get("title")]
    random.shuffle(documents)
    found, kept = {"list": [], "table": [], "definition": []}, []
    for document in documents:
        own = [one for one in questions(document) if len(found[one[0]]) < MAX_QUESTIONS]
        if own:
            kept.append(document)
            # At most two of a kind from one document.
            for kind in found:
                found[kind] += [(document["id"], *one) for one in own if one[0] == kind][:2]
        if len(kept) == MAX_DOCUMENTS:
            break
    out.mkdir(parents=True, exist_ok=True)
    with gzip.open(out / "docs.jsonl.gz", "wt") as file:
        for document in kept:
            file.write(json.dumps(document, ensure_ascii=False) + "\n")
    with open(out / "queries.jsonl", "w") as queries, open(out / "answers.jsonl", "w") as answers, \
            open(out / "qrels.tsv", "w") as qrels:
        number = 0
        for kind, all_of_kind in found.items():
            for document, _, question, strings in all_of_kind:
                identity = f"{kind}.{number}"
                number += 1
                queries.write(json.dumps({"id": identity, "text": question}, ensure_ascii=False) + "\n")
                row = {"id": identity, "doc": document, "section": 0, "answers": strings}
                answers.write(json.dumps(row, ensure_ascii=False) + "\n")
                qrels.write(f"{identity}\t{document}\t1\n")
    print(out.name, len(kept), "documents", {kind: len(all_of) for kind, all_of in found.items()})


main()
