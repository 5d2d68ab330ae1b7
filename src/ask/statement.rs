//! Statements of the best passages: sentences, list items, table rows and whole lists and tables,
//! each with the features that it is ranked by.

use std::collections::HashSet;

use super::{
    blocks::{Block, Group, Notes, one_line},
    definition,
    passages::{Candidate, MAX_READ, Retrieved},
    question::{Question, Wanted},
};
use crate::{
    domain::Result,
    index::{Embed, Passage, Words, embedded_text},
    text::{self, Lang, Mode, sentences::sentences},
};

/// Statements that are weighed, over all passages.
const MAX_STATEMENTS: usize = 60;
/// Statements that are weighed of one passage.
const MAX_OF_PASSAGE: usize = 24;
/// The most of a list or table that is embedded, in characters.
const MAX_EMBEDDED_CHARS: usize = 600;

/// How a statement stands in its note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Sentence,
    Item,
    Row,
    List,
    Table,
}

impl Form {
    /// A whole list or table.
    pub fn is_group(self) -> bool {
        matches!(self, Form::List | Form::Table)
    }
}

/// A piece of a passage that can answer a question, and what speaks for it.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its passage, counted from the best.
    pub passage: usize,
    /// Its place in the passage.
    pub place: usize,
    /// Sentence, list, table row or definition.
    pub form: Form,
    /// The sentence, the item or the labelled row; the introduction of a list or table.
    pub text: String,
    /// The entries of a list or table.
    pub entries: Vec<String>,
    /// The score of its passage as a share of the best passage's.
    pub standing: f32,
    /// The share of the question's words that it has itself, 0 to 1.
    pub own: f32,
    /// The share that it has together with its neighbours, its headings and its title.
    pub around: f32,
    /// The share that its headings and its title have.
    pub head: f32,
    /// The share that its whole passage has, with headings and title.
    pub of_passage: f32,
    /// The cosine of the question to the statement, embedded under its title and headings.
    pub cosine: Option<f32>,
    /// The cosine of the question to the passage.
    pub passage_cosine: Option<f32>,
    /// Whether it is the kind of answer that is asked for; `None` where no kind is.
    pub fits: Option<bool>,
    /// Whether it opens a section that is named like the thing to define.
    pub opens: bool,
}

/// The terms of a text as the index has them.
pub(super) fn terms(text: &str, lang: Option<Lang>) -> HashSet<String> {
    let mut found = HashSet::new();
    text::with_analyser(|analyser| {
        analyser.analyse(text, lang, Mode::Index, |token| {
            if !found.contains(token.term) {
                found.insert(token.term.to_owned());
            }
        });
    });
    found
}

/// The part of a long sentence that matches, on one line.
pub(super) fn cut(
    text: &str,
    lang: Option<Lang>,
    max_chars: usize,
    matches: impl Fn(&str) -> bool,
) -> String {
    text::with_analyser(|analyser| text::snippet(analyser, text, lang, max_chars, matches).text)
}

/// The share of the question's words that are among some terms.
fn share(words: &Words, has: impl Fn(&str) -> bool) -> f32 {
    if words.ideal <= 0.0 {
        return 0.0;
    }
    let known = words.terms.iter().zip(&words.weights).filter(|(term, _)| has(term));
    let sum: f32 = known.map(|(_, weight)| weight).sum();
    sum / words.ideal
}

/// Vectors have length one, so that their product is the cosine.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The statements of the best passages.
pub(super) fn gather(
    question: &Question<'_>,
    found: &Retrieved,
    notes: &mut Notes<'_>,
    embed: Option<&Embed>,
) -> Result<Vec<Statement>> {
    let mut all = Vec::new();
    let mut groups = HashSet::new();
    for (at, candidate) in found.passages.iter().take(MAX_READ).enumerate() {
        let room = MAX_STATEMENTS.saturating_sub(all.len()).min(MAX_OF_PASSAGE);
        let mut blocks = notes
            .blocks(candidate)
            .unwrap_or_else(|| vec![Block::Prose(0..candidate.passage.text.len())]);
        // A list that goes on in the next passage is one list.
        blocks.retain(|block| match block {
            Block::Group(group) => groups.insert((candidate.id.pid, group.block)),
            _ => true,
        });
        let mut read = Reader::new(question, &found.words, at, candidate).read(&blocks);
        let standing = found.standing(at);
        read.iter_mut().for_each(|statement| statement.standing = standing);
        if read.len() > room {
            // Of a long table, the rows that share a word with the question.
            let worth = |one: &Statement| one.own + f32::from(u8::from(one.form.is_group()));
            read.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.place.cmp(&b.place)));
            read.truncate(room);
            read.sort_by_key(|statement| statement.place);
        }
        all.extend(read);
    }
    if let (Some(vector), Some(embed)) = (&found.vector, embed) {
        let texts: Vec<String> = all
            .iter()
            .map(|statement| {
                let Passage { title, toc_path, .. } = &found.passages[statement.passage].passage;
                embedded_text(title, toc_path, &statement.embedded())
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (statement, embedded) in all.iter_mut().zip(embed(&texts)?) {
            statement.cosine = Some(cosine(vector, &embedded));
        }
    }
    Ok(all)
}

impl Statement {
    fn embedded(&self) -> String {
        let mut text = self.text.clone();
        for entry in &self.entries {
            if text.chars().nth(MAX_EMBEDDED_CHARS).is_some() {
                break;
            }
            text.push('\n');
            text.push_str(entry);
        }
        text
    }
}

/// Reads the statements of one passage.
struct Reader<'a> {
    question: &'a Question<'a>,
    words: &'a Words,
    passage: usize,
    candidate: &'a Candidate,
    lang: Option<Lang>,
    head: HashSet<String>,
    /// Whether its section is named like the thing to define.
    is_named: bool,
}

/// A statement before it is compared with its neighbours.
struct Draft {
    form: Form,
    text: String,
    entries: Vec<String>,
    terms: HashSet<String>,
}

impl<'a> Reader<'a> {
    fn new(
        question: &'a Question<'a>,
        words: &'a Words,
        passage: usize,
        candidate: &'a Candidate,
    ) -> Self {
        let Passage { title, toc_path, lang, .. } = &candidate.passage;
        let lang = Lang::from_code(lang);
        let head = terms(&format!("{title}\n{}", toc_path.join("\n")), lang);
        let is_named = question.term.as_ref().is_some_and(|term| {
            toc_path.last().unwrap_or(title).to_lowercase() == *term
                || title.to_lowercase() == *term
        });
        Self { question, words, passage, candidate, lang, head, is_named }
    }

    fn read(&self, blocks: &[Block]) -> Vec<Statement> {
        let drafts: Vec<Draft> = blocks.iter().flat_map(|block| self.drafts(block)).collect();
        let of_passage = share(self.words, |term| {
            self.head.contains(term) || drafts.iter().any(|draft| draft.terms.contains(term))
        });
        let mut statements = Vec::new();
        for (place, draft) in drafts.iter().enumerate() {
            // Where no list is asked for, the row of a table answers, not the table.
            let whole_table =
                draft.form == Form::Table && self.question.wanted != Some(Wanted::List);
            if whole_table || !draft.form.is_group() && !self.may_answer(&draft.text) {
                continue;
            }
            let near = &drafts[place.saturating_sub(1)..(place + 2).min(drafts.len())];
            let has = |term: &str| {
                self.head.contains(term)
                    || draft.terms.contains(term)
                    || near.iter().any(|other| !other.form.is_group() && other.terms.contains(term))
            };
            statements.push(Statement {
                passage: self.passage,
                place,
                form: draft.form,
                text: draft.text.clone(),
                entries: draft.entries.clone(),
                standing: 0.0,
                own: share(self.words, |term| draft.terms.contains(term)),
                around: share(self.words, has),
                head: share(self.words, |term| self.head.contains(term)),
                of_passage,
                cosine: None,
                passage_cosine: self.candidate.evidence.cosine,
                fits: self.fits(draft),
                opens: self.is_named && place == 0 && !is_personal(&draft.text),
            });
        }
        statements
    }

    fn drafts(&self, block: &Block) -> Vec<Draft> {
        let text = &self.candidate.passage.text;
        let draft = |form, text: &str| Draft {
            form,
            text: one_line(text),
            entries: Vec::new(),
            terms: terms(text, self.lang),
        };
        match block {
            Block::Prose(range) => {
                let prose = &text[range.clone()];
                let sentences = sentences(prose).into_iter();
                sentences.map(|range| draft(Form::Sentence, &prose[range])).collect()
            }
            Block::Item(range) => vec![draft(Form::Item, &text[range.clone()])],
            Block::Row(row) => vec![draft(Form::Row, row)],
            Block::Group(group) => vec![self.group(group)],
        }
    }

    /// A whole list or table, introduced by the sentence before it or else by its heading.
    fn group(&self, group: &Group) -> Draft {
        let Passage { title, toc_path, .. } = &self.candidate.passage;
        let heading = toc_path.last().unwrap_or(title);
        let lead = match group.lead.is_empty() {
            true => heading.clone(),
            false => group.lead.clone(),
        };
        let whole = format!("{heading}\n{lead}\n{}", group.entries.join("\n"));
        Draft {
            form: if group.is_table { Form::Table } else { Form::List },
            text: lead,
            entries: group.entries.clone(),
            terms: terms(&whole, self.lang),
        }
    }

    /// Headings, questions and introductions of a list answer nothing.
    fn may_answer(&self, text: &str) -> bool {
        let Passage { title, toc_path, .. } = &self.candidate.passage;
        !text.ends_with(['?', '？', ':', '：'])
            && text.chars().any(char::is_alphanumeric)
            && title != text
            && !toc_path.iter().any(|heading| heading == text)
    }

    fn fits(&self, draft: &Draft) -> Option<bool> {
        let Question { text, wanted, term, .. } = self.question;
        Some(match (*wanted)? {
            Wanted::List => draft.form.is_group(),
            Wanted::Definition => {
                term.as_ref().is_some_and(|term| definition::defines(&draft.text, term))
            }
            wanted => {
                wanted.is_in(&draft.text, text)
                    || draft.entries.iter().any(|entry| wanted.is_in(entry, text))
            }
        })
    }
}

/// Whether a sentence tells of its writer rather than of its subject.
fn is_personal(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "i",
        "i'm",
        "i've",
        "we",
        "my",
        "our",
        "today",
        "yesterday",
        "tomorrow",
        "я",
        "мы",
        "мне",
        "мой",
        "моя",
        "сегодня",
        "вчера",
        "завтра",
    ];
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| WORDS.contains(&word))
        || ["私", "僕", "今日", "昨日", "明日"].iter().any(|word| lower.contains(word))
}
