//! A prompt in the person's editor.

use crate::{
    app::App,
    cli::{
        editor::{in_editor, keep_draft},
        out,
    },
    domain::{
        Error, Prompt, Result, Timestamp,
        prompt::{Draft, Message, Patch},
    },
    import::prompts::markdown,
    store::{
        prompts::{Origin, Stored, check_placeholders},
        revisions::Actor,
    },
};

/// Opens a prompt in the editor and saves what comes back.
pub fn edit(app: &App, name: &str, copy: Option<String>, new: bool) -> Result<()> {
    let opened = match new {
        true => None,
        false => Some(app.prompts.get(name)?),
    };
    let start = match (&opened, &copy) {
        (Some(stored), Some(copy)) => Prompt { name: copy.clone(), ..stored.prompt.clone() },
        (Some(stored), None) if stored.origin == Origin::User => stored.prompt.clone(),
        (Some(_), None) => {
            return Err(Error::invalid_params(format!(
                "`{name}` is built in; edit a copy with `notewell prompt edit {name} --as NEW_NAME`"
            )));
        }
        (None, _) => {
            let mut prompt = Draft {
                name: Some(name.to_owned()),
                title: Some(name.to_owned()),
                messages: Some(vec![Message::user("Write the prompt here.")]),
                ..Draft::default()
            }
            .into_prompt(Timestamp::now())?;
            (prompt.created, prompt.updated) = (None, None);
            prompt
        }
    };
    let before = markdown::write(&start);
    let (file, after) = in_editor(&app.config.data, &start.name, &before)?;
    if after == before && copy.is_none() {
        out::say("Nothing changed.");
        return Ok(());
    }
    match save(app, opened.as_deref().filter(|_| copy.is_none()), &start, &after) {
        Ok(message) => out::say(message),
        Err(error) => return Err(keep_draft(file, error.code, &error.message)),
    }
    Ok(())
}

/// Saves an edited text: as a change of `stored`, or as a new prompt.
fn save(app: &App, stored: Option<&Stored>, start: &Prompt, text: &str) -> Result<String> {
    let edited = markdown::read(text, &start.name)?;
    edited.check()?;
    check_placeholders(&edited)?;
    let Some(Stored { prompt: before, .. }) = stored else {
        let draft = Draft {
            name: Some(edited.name),
            title: Some(edited.title),
            description: edited.description,
            arguments: Some(edited.arguments),
            messages: Some(edited.messages),
            tags: Some(edited.tags),
        };
        return app.create_prompt(draft, &Actor::shell("prompt edit"));
    };
    if app.prompts.get(&before.name)?.prompt != *before {
        return Err(Error::invalid_request(format!(
            "`{}` was changed by somebody else meanwhile; edit it again",
            before.name
        )));
    }
    if edited.extra != before.extra {
        out::note(
            "Fields that are not Notewell's own are changed in user.jsonl itself; left as they were.",
        );
    }
    // Only what changed is given, so that the rest of the line keeps every byte.
    let patch = Patch {
        name: Some(before.name.clone()),
        new_name: (edited.name != before.name).then_some(edited.name),
        title: (edited.title != before.title).then_some(edited.title),
        description: (edited.description != before.description)
            .then(|| edited.description.unwrap_or_default()),
        arguments: (edited.arguments != before.arguments).then_some(edited.arguments),
        messages: (edited.messages != before.messages).then_some(edited.messages),
        tags: (edited.tags != before.tags).then_some(edited.tags),
    };
    match patch.is_empty() {
        true => Ok("Nothing changed.".to_owned()),
        false => app.update_prompt(patch, &Actor::shell("prompt edit")),
    }
}
