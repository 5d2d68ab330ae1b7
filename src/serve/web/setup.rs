//! Making the first owner, with the code that the server's console shows.

use askama::Template;
use axum::{
    http::{StatusCode, header},
    response::Response,
};

use super::{Audience, Form, Html, Reply, Shell, Visit, errors, sign_in};
use crate::domain::{Code, Error, Result};

#[derive(Template)]
#[template(path = "setup.html")]
struct SetUp {
    shell: Shell,
    code: String,
    name: String,
    display_name: String,
    problem: String,
}

/// `GET /setup`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            if visit.app().has_owner()? {
                return Ok(Reply::see("/sign-in"));
            }
            let code = visit.value("code").unwrap_or_default().to_owned();
            let fields = Fields { code, ..Fields::default() };
            page(visit, fields, String::new()).map(Reply::from)
        })
        .await
}

#[derive(Default)]
struct Fields {
    code: String,
    name: String,
    display_name: String,
}

fn page(visit: &Visit, fields: Fields, problem: String) -> Result<Html> {
    let shell = Shell { search: false, ..visit.shell() };
    let Fields { code, name, display_name } = fields;
    let page = SetUp { shell, code, name, display_name, problem };
    Html::of(&page, Audience::Caller).map(Html::into_entrance)
}

/// `POST /setup`.
pub async fn make(form: Form) -> Response {
    let field = |name: &str| form.field(name).to_owned();
    let fields =
        Fields { code: field("code"), name: field("name"), display_name: field("display_name") };
    let (password, again) = (field("password"), field("again"));
    form.visit
        .run(move |visit| {
            let made = match password == again {
                true => visit.app().set_up(
                    &fields.code,
                    &fields.name,
                    &fields.display_name,
                    &password,
                    visit.from,
                ),
                false => Err(Error::invalid_params("the two passwords differ; type them again")),
            };
            match made {
                Ok(account) => sign_in::open(visit, account.id, "/"),
                Err(error) => refused(visit, error, fields),
            }
        })
        .await
}

/// The form again, with what was wrong.
fn refused(visit: &Visit, error: Error, fields: Fields) -> Result<Reply> {
    let (status, wait) = match error.code {
        Code::InvalidRequest | Code::InvalidParams => (StatusCode::BAD_REQUEST, None),
        Code::Conflict => (StatusCode::CONFLICT, None),
        Code::Limit => (StatusCode::TOO_MANY_REQUESTS, Some(errors::wait_seconds(&error))),
        _ => return Err(error),
    };
    let problem = errors::sentence(error.plain());
    let mut response = page(visit, fields, problem)?.with_status(status).answer(&visit.headers);
    if let Some(seconds) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    Ok(response.into())
}
