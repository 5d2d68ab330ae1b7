//! What of the library fits a project: searched for need by need, joined by item, and left out
//! when it does not fit.

use std::collections::{HashMap, HashSet};

use super::{Project, project};
use crate::{
    app::{App, oss::Summary, rights::Rights},
    domain::{Bookmark, Error, Filters, Kind, Pid, Result},
    search::{self, Found, Options},
    text::{Analyser, Mode, is_stop_word, lang},
};

/// How near an item must be to a need in meaning, by the share of the need's words that it has. In
/// another language it has none of them, and the model puts translations farther apart; strangers
/// of one language come nearer to each other than strangers of two. The figures keep out what does
/// not belong among two thousand saved repositories, for needs in three languages.
const NEAR_WITH: [(f32, f32); 3] = [(0.6, 0.25), (0.3, 0.42), (0.0, 0.5)];
const NEAR_ABROAD: f32 = 0.3;
/// The share of a need's words that is enough where there is no vector.
const MOST: f32 = 0.6;
/// What the stack and the description add, beside a need that is met.
const STACK: f32 = 0.05;
const CONTEXT: f32 = 0.1;
/// Items looked at for each need, and told of in all.
const LOOKED_AT: usize = 20;
const TOLD: usize = 12;
/// Bookmarks named as sources of one tool.
const SOURCES: usize = 5;
const MOST_NEEDS: usize = 20;
const LONGEST: usize = 4_000;
const QUOTED: usize = 160;

/// A project, as its developer describes it.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub context: String,
    pub stack: Vec<String>,
    pub needs: Vec<String>,
}

impl Wanted {
    fn check(&self) -> Result<()> {
        if self.context.trim().is_empty() {
            return Err(Error::invalid_params(
                "project_context is required; describe the project in a sentence or two",
            ));
        }
        if self.needs.len() > MOST_NEEDS || self.stack.len() > MOST_NEEDS {
            return Err(Error::invalid_params(format!(
                "at most {MOST_NEEDS} needs and as many technologies are looked at; name the most important"
            )));
        }
        let longest = self.needs.iter().chain(&self.stack).chain([&self.context]);
        match longest.map(|text| text.chars().count()).max() {
            Some(length) if length > LONGEST => Err(Error::invalid_params(format!(
                "a description has {length} characters, at most {LONGEST} are looked at; say it in fewer words"
            ))),
            _ => Ok(()),
        }
    }

    /// What is searched for: the needs, or the description when none is named.
    fn questions(&self) -> Vec<(Option<&str>, &str)> {
        let needs: Vec<_> =
            self.needs.iter().map(|need| need.trim()).filter(|need| !need.is_empty()).collect();
        match needs.is_empty() {
            true => vec![(None, self.context.trim())],
            false => needs.into_iter().map(|need| (Some(need), need)).collect(),
        }
    }
}

/// One thing that fits.
#[derive(Debug, Clone)]
pub struct Fit {
    pub pid: Pid,
    pub what: What,
    pub url: String,
    pub match_id: String,
    pub needs: Vec<String>,
    pub relevance: f32,
    pub reason: String,
}

#[derive(Debug, Clone)]
pub enum What {
    Tool { project: Project, bookmarks: Vec<String>, report: Option<Summary> },
    Article { title: String, bookmark: String },
    Note { kind: Kind, title: String, path: String },
}

#[derive(Debug, Clone, Default)]
pub struct Recommended {
    pub fits: Vec<Fit>,
    pub notes: Vec<String>,
}

/// An item on its way: the needs it meets, and how well.
struct Candidate {
    found: Found,
    bookmark: Option<Bookmark>,
    /// What it says, as far as it was found by it.
    said: String,
    needs: Vec<(Option<String>, f32)>,
    score: f32,
}

impl App {
    pub fn recommend(&self, wanted: &Wanted, rights: &Rights) -> Result<Recommended> {
        wanted.check()?;
        let mut notes = Vec::new();
        let mut candidates: HashMap<Pid, Candidate> = HashMap::new();
        for (need, question) in wanted.questions() {
            let answer = self.fitting(question, rights)?;
            for note in answer.notes() {
                // That a word of a need is unknown is no news to who wrote it.
                if answer.words_only.is_some() && !notes.contains(&note) {
                    notes.push(note);
                }
            }
            for found in answer.results {
                let mut new = self.candidate(found)?;
                if !meets(question, &new) {
                    continue;
                }
                new.score = new.found.relevance;
                let needs = (need.map(str::to_owned), new.score);
                let known = match candidates.remove(&new.found.pid) {
                    Some(known) if known.score >= new.score => known,
                    Some(known) => Candidate { needs: known.needs, ..new },
                    None => new,
                };
                candidates.entry(known.found.pid).or_insert(known).needs.push(needs);
            }
        }
        if !wanted.needs.is_empty() && !candidates.is_empty() {
            for found in self.fitting(&wanted.context, rights)?.results {
                if let Some(known) = candidates.get_mut(&found.pid) {
                    known.score += CONTEXT * found.relevance;
                }
            }
        }
        let mut tools: HashMap<String, usize> = HashMap::new();
        let mut fits: Vec<(Fit, f32)> = Vec::new();
        let mut ordered: Vec<Candidate> = candidates.into_values().collect();
        ordered.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.found.pid.cmp(&b.found.pid)));
        for candidate in ordered {
            let Some((fit, score)) = self.fit(candidate, wanted, rights)? else { continue };
            // Several bookmarks of one tool are one recommendation with several sources.
            if let What::Tool { project, bookmarks, .. } = &fit.what {
                if let Some(at) = tools.get(&project.name.to_lowercase()) {
                    join(&mut fits[*at].0, bookmarks, &fit.needs);
                    continue;
                }
                tools.insert(project.name.to_lowercase(), fits.len());
            }
            fits.push((fit, score));
        }
        fits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.pid.cmp(&b.0.pid)));
        let left = fits.len().saturating_sub(TOLD);
        fits.truncate(TOLD);
        if left > 0 {
            notes.push(format!("{left} more fit less well; name fewer needs to see them"));
        }
        if fits.is_empty() {
            notes.push(
                "nothing in the library fits; save what you find with add_bookmark, or describe the needs in other words"
                    .to_owned(),
            );
        }
        let mut fits: Vec<Fit> = fits.into_iter().map(|(fit, _)| fit).collect();
        let mut reasons: Vec<String> = fits.iter().map(|fit| fit.reason.clone()).collect();
        notes.extend(self.reword(&mut reasons, &wanted.context, rights));
        for (fit, reason) in fits.iter_mut().zip(reasons) {
            fit.reason = reason;
        }
        Ok(Recommended { fits, notes })
    }

    fn fitting(&self, question: &str, rights: &Rights) -> Result<search::Answer> {
        let mut filters =
            Filters { kinds: vec![Kind::Bookmark, Kind::Page, Kind::Card], ..Filters::default() };
        rights.narrow(&mut filters);
        let mut options = Options::new(&filters);
        options.limit = LOOKED_AT;
        // The words are somebody's description: nothing in them is query syntax.
        let query = search::Query { text: question.to_owned(), ..search::Query::default() };
        self.engine.search(&query, &options)
    }

    fn candidate(&self, found: Found) -> Result<Candidate> {
        let bookmark = match found.kind {
            Kind::Bookmark => self.store.bookmarks.get(found.pid)?,
            _ => None,
        };
        let said = match &bookmark {
            Some(bookmark) => bookmark.words(),
            None => {
                let snippets = found.matches.iter().map(|found| found.snippet.as_str());
                std::iter::once(found.title.as_str()).chain(snippets).collect::<Vec<_>>().join("\n")
            }
        };
        Ok(Candidate { found, bookmark, said, needs: Vec::new(), score: 0.0 })
    }

    fn fit(
        &self,
        candidate: Candidate,
        wanted: &Wanted,
        rights: &Rights,
    ) -> Result<Option<(Fit, f32)>> {
        let Candidate { found, bookmark, said, mut needs, mut score } = candidate;
        needs.sort_by(|a, b| b.1.total_cmp(&a.1));
        let needs: Vec<String> = needs.into_iter().filter_map(|(need, _)| need).collect();
        let used: Vec<&str> = wanted
            .stack
            .iter()
            .map(|name| name.trim())
            .filter(|name| !name.is_empty() && mentions(&said, name))
            .collect();
        score += STACK * used.len().min(3) as f32;
        let quote = match found.matches.first().map(|found| found.snippet.trim()) {
            Some(snippet) if !snippet.is_empty() => cut(snippet),
            _ => cut(&said),
        };
        let (what, url, source) = match bookmark {
            Some(bookmark) => {
                let source = format!("bookmark {}", bookmark.id);
                let url = bookmark.url.clone();
                (self.saved(bookmark)?, url, source)
            }
            None => {
                if self.open_pid(found.pid, rights)?.is_none() {
                    return Ok(None);
                }
                let what = What::Note {
                    kind: found.kind,
                    title: found.title.clone(),
                    path: found.path.clone(),
                };
                let source = format!("{} {}", found.kind, found.path);
                (what, self.url(found.kind, found.pid, &found.path), source)
            }
        };
        let meets = match needs.is_empty() {
            true => "Fits the project".to_owned(),
            false => format!("Meets \u{201c}{}\u{201d}", needs.join("\u{201d}, \u{201c}")),
        };
        let mut reason = format!("{meets}: \u{201c}{quote}\u{201d} ({source}).");
        if !used.is_empty() {
            reason += &format!(" Speaks of {}.", used.join(", "));
        }
        if let What::Tool { bookmarks, .. } = &what
            && bookmarks.len() > 1
        {
            reason += &format!(" {} bookmarks name it.", bookmarks.len());
        }
        let match_id = found.matches.first().map(|found| found.id.to_string()).unwrap_or_default();
        let relevance = found.relevance;
        Ok(Some((Fit { pid: found.pid, what, url, match_id, needs, relevance, reason }, score)))
    }

    /// A link to a project is a tool, with every bookmark that names it; anything else is to read.
    fn saved(&self, bookmark: Bookmark) -> Result<What> {
        let linked = std::iter::once(&bookmark.url).chain(&bookmark.links);
        let Some(project) = linked.into_iter().find_map(|address| project(address)) else {
            return Ok(What::Article { title: bookmark.name(), bookmark: bookmark.id });
        };
        let mut bookmarks = vec![bookmark.id];
        let topic = project.name.to_lowercase();
        for other in self.store.bookmarks.about_tool(&project.name, &topic, SOURCES)? {
            // A common word as a name: only who links to it, or writes it as the project does.
            let names = other.words().contains(&project.name) && project.name.len() > 3;
            let links = std::iter::once(&other.url).chain(&other.links).any(|address| {
                super::project(address)
                    .is_some_and(|linked| linked.repository == project.repository)
            });
            if (links || names) && !bookmarks.contains(&other.id) {
                bookmarks.push(other.id);
            }
        }
        let report = match &project.repository {
            Some(repository) => self.known_report(repository)?,
            None => None,
        };
        Ok(What::Tool { project, bookmarks, report })
    }
}

fn meets(need: &str, candidate: &Candidate) -> bool {
    let share = covered(need, &candidate.said);
    let Some(cosine) = candidate.found.evidence.cosine else { return share >= MOST };
    let near = NEAR_WITH.iter().find(|(least, _)| share >= *least).map_or(1.0, |(_, near)| *near);
    let abroad = || lang::detect(need) != lang::detect(&candidate.said);
    cosine >= near || (share == 0.0 && cosine >= NEAR_ABROAD && abroad())
}

/// Whether a text speaks of a technology, in whatever form of the word.
fn mentions(text: &str, name: &str) -> bool {
    covered(name, text) >= 1.0
}

/// The share of what is asked, word by word, that a text says in some form.
pub(super) fn covered(asked: &str, text: &str) -> f32 {
    let mut analyser = Analyser::new();
    let said: HashSet<String> =
        analyser.terms(text, None, Mode::Index).into_iter().map(|term| term.term).collect();
    let mut words: HashMap<u32, bool> = HashMap::new();
    for term in analyser.terms(asked, None, Mode::Query) {
        if !is_stop_word(&asked[term.range], None) {
            *words.entry(term.position).or_default() |= said.contains(&term.term);
        }
    }
    let hits = words.values().filter(|said| **said).count();
    if words.is_empty() { 0.0 } else { hits as f32 / words.len() as f32 }
}

/// The beginning of a text on one line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED) {
        None => line,
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
    }
}

fn join(fit: &mut Fit, bookmarks: &[String], needs: &[String]) {
    if let What::Tool { bookmarks: known, .. } = &mut fit.what {
        for id in bookmarks {
            if !known.contains(id) && known.len() < SOURCES {
                known.push(id.clone());
            }
        }
    }
    for need in needs {
        if !fit.needs.contains(need) {
            fit.needs.push(need.clone());
            fit.reason += &format!(" Also meets \u{201c}{need}\u{201d}.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_covered_in_whatever_form() {
        for (asked, text) in [
            ("vector databases", "Built a RAG pipeline with a vector database"),
            ("базу данных", "Наша база данных растёт"),
            ("ベクトル検索", "ベクトル検索と再ランキング"),
            ("the Python", "written in Python"),
        ] {
            assert!(covered(asked, text) >= 1.0, "{asked}: {text}");
        }
        assert!(covered("merino wool yarn", "a vector database of wool") < MOST);
        assert!(covered("the and of", "the and of") < MOST, "stop words ask for nothing");
    }
}
