//! Asks the person before a call, where the client can: with a request of the server's in sessions
//! of the handshake era, with `input_required` in the revision of 2026.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use rmcp::{
    RoleServer,
    model::{
        CallToolResponse, CallToolResult, ClientResult, ContentBlock, ElicitRequest,
        ElicitRequestParams, InputRequest, InputRequiredResult, InputResponses, ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    link::Identity,
    payment::{Opened, StateKey},
};
use crate::{domain::Timestamp, tools::Confirmation};

/// The name of the question, and of its one field.
const CONFIRM: &str = "confirm";
const CHOICE: &str = "choice";
const ONCE: &str = "Yes";
const SESSION: &str = "Yes, and do not ask again in this session";
const NO: &str = "No";
/// How long a client has to come back with an answer.
const STATE_MS: i64 = 600_000;
/// Answers that were used, and are not taken twice.
const MAX_USED: usize = 10_000;

/// What the person of one connection does not want to be asked again.
#[derive(Clone, Default)]
pub struct Remembered(Arc<Mutex<HashSet<String>>>);

impl Remembered {
    /// Whether the person agreed to this for the session.
    pub fn has(&self, subject: &str) -> bool {
        lock(&self.0).contains(subject)
    }

    fn add(&self, subject: &str) {
        lock(&self.0).insert(subject.to_owned());
    }
}

/// The answers that were used already: one answer is one consent.
#[derive(Default)]
pub struct Used(Mutex<HashMap<String, i64>>);

impl Used {
    /// Takes an answer that is valid until a time; false when it was taken before.
    fn take(&self, state: &str, until: i64) -> bool {
        let mut used = lock(&self.0);
        let now = Timestamp::now().0;
        if used.len() >= MAX_USED {
            used.retain(|_, until| *until > now);
        }
        used.len() < MAX_USED && used.insert(state.to_owned(), until).is_none()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Once,
    Session,
    No,
}

impl Decision {
    /// Reads an answer. Whatever is no clear yes is a no.
    fn read(action: &str, content: &Value) -> Self {
        match (action, content[CHOICE].as_str()) {
            ("accept", Some(ONCE)) => Decision::Once,
            ("accept", Some(SESSION)) => Decision::Session,
            _ => Decision::No,
        }
    }
}

/// A call that needs a confirmation, and its client.
pub struct Asking<'a> {
    pub confirmation: &'a Confirmation,
    /// What the person agreed to before; `None` where each request is a connection of its own.
    pub remembered: Option<&'a Remembered>,
    pub identity: &'a Identity,
    pub tool: &'a str,
    pub arguments: &'a Value,
}

/// Whether a client shows forms to its person.
pub fn shows_forms(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
    // Without a word on modes it is the form, as the first revision had it.
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

impl Asking<'_> {
    /// Asks within a session, and waits. `Err` is the answer to the call that is not made.
    pub async fn ask(
        &self,
        context: &RequestContext<RoleServer>,
        time: Duration,
    ) -> Result<(), Box<CallToolResponse>> {
        let question = self.question().ok_or_else(|| self.refusal("it could not be asked"))?;
        let question = ServerRequest::ElicitRequest(question);
        let options = PeerRequestOptions::with_timeout(time);
        let answer = async {
            context.peer.send_request_with_option(question, options).await?.await_response().await
        };
        let answer = tokio::select! {
            answer = answer => answer,
            () = context.ct.cancelled() => return Err(self.refusal("the request was cancelled")),
        };
        match answer {
            Ok(ClientResult::ElicitResult(answer)) => {
                let action = serde_json::to_value(&answer.action).unwrap_or_default();
                let content = answer.content.unwrap_or_default();
                self.decide(action.as_str().unwrap_or_default(), &content)
            }
            Err(ServiceError::Timeout { .. }) => Err(self.refusal(&format!(
                "nobody answered within {} s (`limits.confirm_seconds`)",
                time.as_secs()
            ))),
            _ => Err(self.refusal("the client declares that it can ask, and did not")),
        }
    }

    /// Reads what the client brought back, or has it ask. `Err` is the answer to the call.
    pub fn round(
        &self,
        key: &StateKey,
        used: &Used,
        state: Option<&str>,
        responses: Option<&InputResponses>,
    ) -> Result<(), Box<CallToolResponse>> {
        let answered = state.zip(responses.and_then(|responses| responses.get(CONFIRM)));
        if let Some((state, response)) = answered
            && let Some((nonce, sealed)) = state.split_once('.')
            && let Opened::Until(until) = key.open(&self.sealed(nonce), sealed)
            && used.take(state, until)
        {
            let action = response["action"].as_str().unwrap_or_default();
            return self.decide(action, &response["content"]);
        }
        let mut nonce = [0; 12];
        let nonce = getrandom::fill(&mut nonce).ok().map(|()| BASE64.encode(nonce));
        let state = nonce.and_then(|nonce| {
            let sealed = key.seal(&self.sealed(&nonce), STATE_MS)?;
            Some(format!("{nonce}.{sealed}"))
        });
        let Some(state) = state else {
            return Err(self.refusal("this machine gives no random numbers to ask with"));
        };
        let question = self.question().ok_or_else(|| self.refusal("it could not be asked"))?;
        let question = InputRequest::Elicitation(question);
        let requests = BTreeMap::from([(CONFIRM.to_owned(), question)]);
        Err(Box::new(InputRequiredResult::new(Some(requests), Some(state)).into()))
    }

    /// What an answer is valid for: this caller, this call and this question, once.
    fn sealed(&self, nonce: &str) -> String {
        let arguments = BASE64.encode(Sha256::digest(self.arguments.to_string()));
        let Confirmation { subject, question } = self.confirmation;
        json!([
            CONFIRM,
            nonce,
            format!("{:?}", self.identity),
            self.tool,
            arguments,
            subject,
            question
        ])
        .to_string()
    }

    fn decide(&self, action: &str, content: &Value) -> Result<(), Box<CallToolResponse>> {
        match (Decision::read(action, content), self.remembered) {
            (Decision::Session, Some(remembered)) => {
                remembered.add(&self.confirmation.subject);
                Ok(())
            }
            (Decision::Once | Decision::Session, _) => Ok(()),
            (Decision::No, _) if action == "cancel" => {
                Err(self.refusal("the question was closed without an answer"))
            }
            (Decision::No, _) => Err(self.refusal("the person said no")),
        }
    }

    fn question(&self) -> Option<ElicitRequest> {
        let mut choices = vec![ONCE, NO];
        if self.remembered.is_some() {
            choices.insert(1, SESSION);
        }
        let schema = json!({
            "type": "object",
            "properties": { CHOICE: { "type": "string", "title": "Your choice", "enum": choices } },
            "required": [CHOICE],
        });
        Some(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.confirmation.question.clone(),
            requested_schema: serde_json::from_value(schema).ok()?,
        }))
    }

    fn refusal(&self, why: &str) -> Box<CallToolResponse> {
        let text = format!(
            "not done, because {why}: {} Nothing was changed. Do not repeat the call unless the person asks for it.",
            self.confirmation.question
        );
        Box::new(CallToolResult::error(vec![ContentBlock::text(text)]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let read = |action: &str, choice: Value| Decision::read(action, &json!({ CHOICE: choice }));
        assert_eq!(read("accept", ONCE.into()), Decision::Once);
        assert_eq!(read("accept", SESSION.into()), Decision::Session);
        for (action, choice) in [
            ("accept", json!(NO)),
            ("accept", json!(null)),
            ("accept", json!(true)),
            ("accept", json!("yes please")),
            ("decline", json!(ONCE)),
            ("cancel", json!(ONCE)),
            ("", json!(ONCE)),
        ] {
            assert_eq!(read(action, choice.clone()), Decision::No, "{action} {choice}");
        }
        assert_eq!(Decision::read("accept", &Value::Null), Decision::No);
    }

    #[test]
    fn an_answer_counts_once_and_for_its_call_only() {
        let confirmation = Confirmation { subject: "delete".into(), question: "Delete?".into() };
        let (key, used, arguments) = (StateKey::default(), Used::default(), json!({ "id": "a" }));
        let asking = Asking {
            confirmation: &confirmation,
            remembered: None,
            identity: &Identity::Token(1),
            tool: "delete_note",
            arguments: &arguments,
        };
        let state = |answer: Result<(), Box<CallToolResponse>>| match *answer.unwrap_err() {
            CallToolResponse::InputRequired(asked) => {
                serde_json::to_value(asked).unwrap()["requestState"].as_str().unwrap().to_owned()
            }
            other => panic!("{other:?}"),
        };
        let yes = InputResponses::from([(
            CONFIRM.to_owned(),
            json!({ "action": "accept", "content": { CHOICE: ONCE } }),
        )]);
        let first = state(asking.round(&key, &used, None, None));
        for other in [
            Asking { arguments: &json!({ "id": "b" }), ..asking },
            Asking { identity: &Identity::Token(2), ..asking },
            Asking { tool: "delete_prompt", ..asking },
        ] {
            state(other.round(&key, &used, Some(&first), Some(&yes)));
        }
        state(asking.round(&StateKey::default(), &used, Some(&first), Some(&yes)));
        assert!(asking.round(&key, &used, Some(&first), Some(&yes)).is_ok());
        let again = state(asking.round(&key, &used, Some(&first), Some(&yes)));
        assert_ne!(again, first);
    }
}
