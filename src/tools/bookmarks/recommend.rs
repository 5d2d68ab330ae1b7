use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    app::bookmarks::recommend::{Fit, FitKind, Wanted},
    domain::{Kind, Result, count},
    tools::{self, Cx, Effect, Format, Right, Tool, Toolset},
};

/// Find saved tools, articles and notes that fit a project, each with the reason. Read one with note_html and its match_id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recommend {
    project_context: String,
    tech_stack: Option<Vec<String>>,
    needs: Option<Vec<String>>,
    #[allow(dead_code, reason = "read where the answer is written")]
    format: Option<Format>,
}

#[derive(Serialize, JsonSchema)]
pub struct RecommendAnswer {
    recommendations: Vec<Recommendation>,
    /// What was left out or is not indexed yet.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Recommendation {
    /// `tool`, `article`, `page` or `card`.
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_bookmarks: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oss_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_score: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_bookmark: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    needs: Vec<String>,
    /// 0 to 1.
    relevance: f64,
    url: String,
    pid: i64,
    match_id: String,
}

impl Tool for Recommend {
    const NAME: &'static str = "recommend";
    const TITLE: &'static str = "Recommend for a project";
    const TOOLSET: Toolset = Toolset::Bookmarks;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = RecommendAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<RecommendAnswer> {
        let wanted = Wanted {
            context: self.project_context,
            stack: self.tech_stack.unwrap_or_default(),
            needs: self.needs.unwrap_or_default(),
        };
        let recommended = cx.app.recommend(&wanted, cx.rights)?;
        Ok(RecommendAnswer {
            recommendations: recommended.fits.into_iter().map(recommendation).collect(),
            notes: recommended.notes,
        })
    }
}

fn recommendation(fit: Fit) -> Recommendation {
    let mut entry = Recommendation {
        r#type: "",
        name: None,
        title: None,
        reason: fit.reason,
        source_bookmarks: None,
        oss_verified: None,
        security_score: None,
        source_bookmark: None,
        path: None,
        needs: fit.needs,
        relevance: (f64::from(fit.relevance) * 1000.0).round() / 1000.0,
        url: fit.url,
        pid: fit.pid.0,
        match_id: fit.match_id,
    };
    match fit.what {
        FitKind::Tool { project, bookmarks, report } => {
            entry.r#type = "tool";
            entry.oss_verified = Some(report.is_some());
            entry.security_score = report.map(|report| report.score);
            entry.name = Some(project.name);
            entry.url = project.repository.unwrap_or(entry.url);
            entry.source_bookmarks = Some(bookmarks);
        }
        FitKind::Article { title, bookmark } => {
            entry.r#type = "article";
            entry.title = Some(title);
            entry.source_bookmark = Some(bookmark);
        }
        FitKind::Note { kind, title, path } => {
            entry.r#type = kind.as_str();
            entry.title = Some(title);
            entry.path = Some(path);
        }
    }
    entry
}

impl tools::Answer for RecommendAnswer {
    fn text(&self) -> String {
        let mut text = match self.recommendations.len() {
            0 => "Nothing to recommend.".to_owned(),
            more => format!("{}:", count(more, "recommendation")),
        };
        for (number, one) in self.recommendations.iter().enumerate() {
            let name = one.name.as_ref().or(one.title.as_ref()).map_or("", String::as_str);
            text += &format!(
                "\n\n{}. {name} ({})\n   {}\n   {}\n   match_id: {}",
                number + 1,
                one.r#type,
                one.url,
                one.reason,
                one.match_id
            );
            if let Some(score) = one.security_score {
                text +=
                    &format!("\n   security score: {score} of 100 (oss_report has the evidence)");
            }
        }
        for note in &self.notes {
            text += &format!("\n\nNote: {note}.");
        }
        text
    }
}
