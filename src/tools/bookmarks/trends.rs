use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{handle, shorten};
use crate::{
    app::bookmarks::trends::{Period, Trend, Trends, trend},
    domain::{Kind, Result, Timestamp},
    store::bookmarks::Tally,
    tools::{self, Cx, Effect, Format, Right, Tool, Toolset, vault::search::unknown_category},
};

/// Sum up the bookmarks saved in a period: topics, notable posts and new tools, compared with the period before.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TrendsTool {
    /// Default 1w
    period: Option<Period>,
    category: Option<String>,
    /// End of the period; default now
    as_of: Option<String>,
    #[allow(dead_code, reason = "read where the answer is written")]
    format: Option<Format>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrendsAnswer {
    period: Period,
    date_range: DateRange,
    summary: String,
    /// Bookmarks in the period.
    count: u64,
    /// Bookmarks in the period before.
    previous_count: u64,
    top_topics: Vec<TopTopic>,
    notable_bookmarks: Vec<Notable>,
    new_tools: Vec<NewTool>,
    top_authors: Vec<Count>,
    top_domains: Vec<Count>,
    /// What was left out or is not indexed yet.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct DateRange {
    from: String,
    to: String,
}

#[derive(Serialize, JsonSchema)]
struct TopTopic {
    topic: String,
    count: u64,
    trend: Trend,
    previous: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Notable {
    tweet_id: String,
    author: String,
    text: String,
    reason: String,
    url: String,
    pid: i64,
}

#[derive(Serialize, JsonSchema)]
struct NewTool {
    name: String,
    mentions: u64,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    name: String,
    count: u64,
    previous: u64,
}

/// Characters of a notable bookmark's text.
const QUOTED: usize = 280;

impl Tool for TrendsTool {
    const NAME: &'static str = "trends";
    const TITLE: &'static str = "Sum up what was saved";
    const TOOLSET: Toolset = Toolset::Bookmarks;
    const RIGHT: Right = Right::ReadEvery(Kind::Bookmark);
    const EFFECT: Effect = Effect::Reads;
    type Answer = TrendsAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<TrendsAnswer> {
        let as_of = match &self.as_of {
            Some(moment) => moment.parse()?,
            None => Timestamp::now(),
        };
        let mut notes = Vec::new();
        if let Some(category) = &self.category {
            notes.extend(unknown_category(cx, category)?);
        }
        let period = self.period.unwrap_or(Period::Week);
        let trends = cx.app.trends(period, self.category, as_of, cx.rights)?;
        notes.extend(trends.notes.clone());
        Ok(answer(trends, notes))
    }
}

fn answer(trends: Trends, notes: Vec<String>) -> TrendsAnswer {
    let counts = |tallies: &[Tally]| {
        let counts = tallies.iter();
        counts
            .map(|tally| Count {
                name: tally.name.clone(),
                count: tally.now,
                previous: tally.before,
            })
            .collect()
    };
    TrendsAnswer {
        period: trends.period,
        date_range: DateRange { from: trends.window.from.date(), to: trends.window.until.date() },
        summary: trends.summary,
        count: trends.counted.now,
        previous_count: trends.counted.before,
        top_topics: trends
            .counted
            .topics
            .iter()
            .map(|topic| TopTopic {
                topic: topic.name.clone(),
                count: topic.now,
                trend: trend(topic),
                previous: topic.before,
            })
            .collect(),
        notable_bookmarks: trends
            .notable
            .into_iter()
            .map(|(pid, bookmark, reason)| Notable {
                author: handle(&bookmark),
                text: shorten(bookmark.words(), QUOTED),
                tweet_id: bookmark.id,
                url: bookmark.url,
                reason,
                pid: pid.0,
            })
            .collect(),
        new_tools: trends
            .new_tools
            .into_iter()
            .map(|(name, mentions)| NewTool { name, mentions })
            .collect(),
        top_authors: counts(&trends.counted.authors),
        top_domains: counts(&trends.counted.domains),
        notes,
    }
}

impl tools::Answer for TrendsAnswer {
    fn text(&self) -> String {
        let mut text =
            format!("{} to {}: {}", self.date_range.from, self.date_range.to, self.summary);
        if !self.top_topics.is_empty() {
            text += "\n\nTopics:";
            for topic in &self.top_topics {
                text += &format!(
                    "\n- {}: {} ({}, {} before)",
                    topic.topic, topic.count, topic.trend, topic.previous
                );
            }
        }
        if !self.notable_bookmarks.is_empty() {
            text += "\n\nNotable:";
            for notable in &self.notable_bookmarks {
                let line = notable.text.split_whitespace().collect::<Vec<_>>().join(" ");
                text += &format!(
                    "\n- {} {line}\n  {}\n  {} (id {}, pid {})",
                    notable.author, notable.url, notable.reason, notable.tweet_id, notable.pid
                );
            }
        }
        if !self.new_tools.is_empty() {
            text += "\n\nNew tools:";
            for tool in &self.new_tools {
                text += &format!("\n- {} ({})", tool.name, tool.mentions);
            }
        }
        for note in &self.notes {
            text += &format!("\n\nNote: {note}.");
        }
        text
    }
}
