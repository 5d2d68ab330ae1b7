use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    app::oss::Known,
    domain::{Result, count, query::words},
    oss::{Report, Target},
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// Report whether a Git repository (https URL) is safe to try: score, verdict, build, evidence. A
/// new verification takes minutes: call again until status is verified.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OssReport {
    repo_url: String,
    /// Start one if there is no report
    verify_if_missing: Option<bool>,
}

words!(
    /// Whether there is a report.
    Status, "status", { Verified = "verified", Verifying = "verifying", Missing = "missing" }
);

/// A report, or the state of the verification while there is none.
#[derive(Serialize)]
pub struct OssAnswer {
    #[serde(flatten)]
    body: Body,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body {
    Report(Box<Report>),
    #[serde(rename_all = "camelCase")]
    None {
        repo_url: String,
        repo_name: String,
    },
}

/// The schema of a report in which only the address, the name and the status are required.
impl JsonSchema for OssAnswer {
    fn schema_name() -> Cow<'static, str> {
        "OssReport".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Report::json_schema(generator);
        let status = Status::json_schema(generator);
        let schema_of_text = String::json_schema(generator);
        let map = schema.ensure_object();
        map.insert("required".into(), json!(["repoUrl", "repoName", "status"]));
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            properties.insert("status".into(), status.to_value());
            properties.insert("message".into(), schema_of_text.to_value());
        }
        schema
    }
}

impl Answer for OssAnswer {
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Tool for OssReport {
    const NAME: &'static str = "oss_report";
    const TITLE: &'static str = "Report on a repository";
    const TOOLSET: Toolset = Toolset::Bookmarks;
    const RIGHT: Right = Right::VerifyRepositories;
    const EFFECT: Effect = Effect::Fetches;
    const LONG: bool = true;
    type Answer = OssAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<OssAnswer> {
        let verify = self.verify_if_missing.unwrap_or(false);
        let (target, known) =
            cx.app.oss_report(&self.repo_url, verify, cx.patience, cx.progress)?;
        Ok(OssAnswer::new(&target, known))
    }
}

impl OssAnswer {
    fn new(target: &Target, known: Known) -> Self {
        let none = |status, message: String| Self {
            body: Body::None { repo_url: target.url(), repo_name: target.name() },
            status,
            message: Some(message),
        };
        match known {
            Known::Report(report) => {
                Self { body: Body::Report(report), status: Status::Verified, message: None }
            }
            Known::Missing { failed: None } => none(
                Status::Missing,
                "there is no report on this repository; call again with verify_if_missing: true"
                    .into(),
            ),
            Known::Missing { failed: Some(why) } => {
                none(Status::Missing, format!("there is no report; the last attempt failed: {why}"))
            }
            Known::Queued { before: 0 } => {
                none(Status::Verifying, "next in the queue; ask again in a minute".into())
            }
            Known::Queued { before } => none(
                Status::Verifying,
                format!(
                    "waiting in the queue behind {}; ask again in a minute",
                    count(before, "other")
                ),
            ),
            Known::Verifying { step, steps, doing } => none(
                Status::Verifying,
                format!("being verified, step {step} of {steps}: {doing}; ask again in a minute"),
            ),
        }
    }
}
