//! What of the library fits a project: searched for need by need, joined by item, and left out
//! when it does not fit.

use std::collections::HashMap;

mod needs;

use self::needs::{Candidate, Candidates, clauses, text};
use super::Project;
use crate::{
    app::{App, oss::Summary, rights::Rights},
    domain::{Bookmark, Error, Kind, Pid, Result},
    enrich::{covered, linked_projects},
};

/// What a technology of the stack adds, beside a need that is met.
const STACK: f32 = 0.05;
/// Recommendations in an answer, and of these for one need.
const MAX_FITS: usize = 12;
const MAX_FITS_OF_NEED: usize = MAX_FITS / 3;
/// Bookmarks named as sources of one tool.
const MAX_SOURCES: usize = 5;
const MAX_NEEDS: usize = 20;
/// Characters of a need or a description.
const MAX_CHARACTERS: usize = 4_000;
const MAX_QUOTE: usize = 160;

/// A project, as its developer describes it.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// What the project is.
    pub context: String,
    /// Languages and tools that it uses.
    pub stack: Vec<String>,
    /// What it needs; empty to derive needs from the context.
    pub needs: Vec<String>,
}

impl Wanted {
    fn check(&self) -> Result<()> {
        if self.context.trim().is_empty() {
            return Err(Error::invalid_params(
                "project_context is required; describe the project in a sentence or two",
            ));
        }
        if self.needs.len() > MAX_NEEDS || self.stack.len() > MAX_NEEDS {
            return Err(Error::invalid_params(format!(
                "at most {MAX_NEEDS} needs and as many technologies are looked at; name the most important"
            )));
        }
        let longest = self.needs.iter().chain(&self.stack).chain([&self.context]);
        match longest.map(|text| text.chars().count()).max() {
            Some(length) if length > MAX_CHARACTERS => Err(Error::invalid_params(format!(
                "a description has {length} characters, at most {MAX_CHARACTERS} are looked at; say it in fewer words"
            ))),
            _ => Ok(()),
        }
    }

    /// What is searched for: the needs, or the parts of the description when none is named. Each
    /// with the need that it stands for.
    fn questions(&self) -> Vec<(Option<&str>, &str)> {
        let needs: Vec<_> =
            self.needs.iter().map(|need| need.trim()).filter(|need| !need.is_empty()).collect();
        match needs.is_empty() {
            true => {
                clauses(&self.context).into_iter().take(MAX_NEEDS).map(|one| (None, one)).collect()
            }
            false => needs.into_iter().map(|need| (Some(need), need)).collect(),
        }
    }
}

/// One thing that fits.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The item.
    pub pid: Pid,
    /// What is recommended.
    pub what: FitKind,
    /// Its address.
    pub url: String,
    /// The passage that fits.
    pub match_id: String,
    /// The needs that it meets.
    pub needs: Vec<String>,
    /// 0 to 1.
    pub relevance: f32,
    /// Why it fits, in a sentence.
    pub reason: String,
}

/// What a recommendation leads to.
#[derive(Debug, Clone)]
pub enum FitKind {
    /// A project, with the bookmarks that name it and its report.
    #[allow(missing_docs, reason = "described above")]
    Tool { project: Project, bookmarks: Vec<String>, report: Option<Summary> },
    /// A saved article or post.
    #[allow(missing_docs, reason = "described above")]
    Article { title: String, bookmark: String },
    /// A note, card or prompt.
    #[allow(missing_docs, reason = "described above")]
    Note { kind: Kind, title: String, path: String },
}

/// Recommendations for a project.
#[derive(Debug, Clone, Default)]
pub struct Recommended {
    /// Best first.
    pub fits: Vec<Fit>,
    /// What the reader should know about the answer.
    pub notes: Vec<String>,
}

/// An item on its way into the answer.
struct Chosen {
    candidate: Candidate,
    /// The needs it meets, and how well.
    needs: Vec<(Option<String>, f32)>,
    score: f32,
}

impl App {
    /// Items of the library that fit a project.
    pub fn recommend(&self, wanted: &Wanted, rights: &Rights) -> Result<Recommended> {
        wanted.check()?;
        let mut notes = Vec::new();
        let chosen = self.chosen(wanted, rights, &mut notes)?;
        let mut tools: HashMap<String, usize> = HashMap::new();
        let mut fits: Vec<(Fit, f32)> = Vec::new();
        for one in chosen {
            let Some((fit, score)) = self.fit(one, wanted, rights)? else { continue };
            // Several bookmarks of one tool are one recommendation with several sources.
            if let FitKind::Tool { project, bookmarks, .. } = &fit.what {
                if let Some(at) = tools.get(&project.name.to_lowercase()) {
                    join(&mut fits[*at].0, bookmarks, &fit.needs);
                    continue;
                }
                tools.insert(project.name.to_lowercase(), fits.len());
            }
            fits.push((fit, score));
        }
        fits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.pid.cmp(&b.0.pid)));
        let left = fits.len().saturating_sub(MAX_FITS);
        fits.truncate(MAX_FITS);
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
        notes.extend(self.rephrase(&mut reasons, &wanted.context, rights));
        for (fit, reason) in fits.iter_mut().zip(reasons) {
            fit.reason = reason;
        }
        Ok(Recommended { fits, notes })
    }

    /// The best items for each need, together with how well they suit the whole description.
    fn chosen(
        &self,
        wanted: &Wanted,
        rights: &Rights,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Chosen>> {
        let context = match wanted.questions().iter().any(|(need, _)| need.is_some()) {
            true => self.margins(&wanted.context, rights)?,
            false => HashMap::new(),
        };
        let mut chosen: HashMap<Pid, Chosen> = HashMap::new();
        for (need, question) in wanted.questions() {
            let Candidates { mut list, words_only } = self.meeting(question, &context, rights)?;
            if let Some(note) = words_only.filter(|note| !notes.contains(note)) {
                notes.push(note);
            }
            list.truncate(MAX_FITS_OF_NEED);
            for candidate in list {
                let pid = candidate.found.pid;
                let score = candidate.fit;
                let met = (need.map(str::to_owned), score);
                let known = chosen.entry(pid).or_insert_with(|| Chosen {
                    candidate,
                    needs: Vec::new(),
                    score,
                });
                known.score = known.score.max(score);
                known.needs.push(met);
            }
        }
        let mut chosen: Vec<Chosen> = chosen.into_values().collect();
        chosen.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then(a.candidate.found.pid.cmp(&b.candidate.found.pid))
        });
        Ok(chosen)
    }

    fn fit(&self, chosen: Chosen, wanted: &Wanted, rights: &Rights) -> Result<Option<(Fit, f32)>> {
        let Chosen { candidate: Candidate { found, bookmark, .. }, mut needs, mut score } = chosen;
        let text = text(&found, bookmark.as_ref());
        needs.sort_by(|a, b| b.1.total_cmp(&a.1));
        let needs: Vec<String> = needs.into_iter().filter_map(|(need, _)| need).collect();
        let used: Vec<&str> = wanted
            .stack
            .iter()
            .map(|name| name.trim())
            .filter(|name| !name.is_empty() && mentions(&text, name))
            .collect();
        score += STACK * used.len().min(3) as f32;
        let quote = match found.matches.first().map(|found| found.snippet.trim()) {
            Some(snippet) if !snippet.is_empty() => cut(snippet),
            _ => cut(&text),
        };
        let (what, url, source) = match bookmark {
            Some(bookmark) => {
                let source = format!("bookmark {}", bookmark.id);
                let url = bookmark.url.clone();
                (self.saved(bookmark, rights)?, url, source)
            }
            None => {
                if self.open_pid(found.pid, rights)?.is_none() {
                    return Ok(None);
                }
                let what = FitKind::Note {
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
        if let FitKind::Tool { bookmarks, .. } = &what
            && bookmarks.len() > 1
        {
            reason += &format!(" {} bookmarks name it.", bookmarks.len());
        }
        let match_id = found.matches.first().map(|found| found.id.to_string()).unwrap_or_default();
        let relevance = found.relevance;
        Ok(Some((Fit { pid: found.pid, what, url, match_id, needs, relevance, reason }, score)))
    }

    /// A link to a project is a tool, with every bookmark that names it; anything else is to read.
    fn saved(&self, bookmark: Bookmark, rights: &Rights) -> Result<FitKind> {
        let Some(project) = linked_projects(&bookmark).next() else {
            return Ok(FitKind::Article { title: bookmark.name(), bookmark: bookmark.id });
        };
        let mut bookmarks = vec![bookmark.id];
        let topic = project.name.to_lowercase();
        for other in self.store.bookmarks.about_tool(&project.name, &topic, MAX_SOURCES)? {
            // A common word as a name: only who links to it, or writes it as the project does.
            let names = other.words().contains(&project.name) && project.name.len() > 3;
            let links = linked_projects(&other).any(|one| one.repository == project.repository);
            let is_new = !bookmarks.contains(&other.id);
            if (links || names) && is_new && rights.sees_bookmark(&other) {
                bookmarks.push(other.id);
            }
        }
        let report = match &project.repository {
            Some(repository) => self.known_report(repository)?,
            None => None,
        };
        Ok(FitKind::Tool { project, bookmarks, report })
    }
}

/// Whether a text speaks of a technology, in whatever form of the word.
fn mentions(text: &str, name: &str) -> bool {
    covered(name, text) >= 1.0
}

/// The beginning of a text on one line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_QUOTE) {
        None => line,
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
    }
}

fn join(fit: &mut Fit, bookmarks: &[String], needs: &[String]) {
    if let FitKind::Tool { bookmarks: known, .. } = &mut fit.what {
        for id in bookmarks {
            if !known.contains(id) && known.len() < MAX_SOURCES {
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
