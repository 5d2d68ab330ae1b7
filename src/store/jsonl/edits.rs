//! The rules of changing the user's prompts, wherever their lines are kept.

use std::{collections::HashSet, sync::Arc};

use super::{lines::Lines, snapshot::Snapshot};
use crate::{
    domain::{Error, Prompt, Result, Timestamp, prompt::Patch},
    store::prompts::{Stored, check_placeholders, not_found, read_only, taken},
};

/// Adds prompts, all or none.
pub fn add(lines: &mut Lines, snapshot: &Snapshot, prompts: &[Prompt]) -> Result<()> {
    let mut new = HashSet::new();
    for prompt in prompts {
        if snapshot.is_taken(&prompt.name) || !new.insert(prompt.name.as_str()) {
            return Err(taken(&prompt.name));
        }
    }
    prompts.iter().for_each(|prompt| lines.append(prompt.clone()));
    Ok(())
}

/// The prompt that a patch copies under a new name because it is not the user's own; `None` where
/// the patch changes the user's. Refuses what changes nothing or what may not be changed.
pub fn copied<'a>(snapshot: &'a Snapshot, patch: &Patch) -> Result<Option<&'a Prompt>> {
    let name = patch.name()?;
    if patch.is_empty() {
        return Err(Error::invalid_params(
            "nothing to update; give title, description, arguments, messages, tags or newName",
        ));
    }
    match writable(snapshot, name, "update") {
        Ok(_) => Ok(None),
        Err(error) => match (snapshot.look_up(name), &patch.new_name) {
            (Some(known), Some(_)) => Ok(Some(&known.prompt)),
            _ => Err(error),
        },
    }
}

/// Changes one prompt of the user.
pub fn update(lines: &mut Lines, snapshot: &Snapshot, patch: &Patch) -> Result<Arc<Stored>> {
    let name = patch.name()?;
    let known = writable(snapshot, name, "update")?;
    let at = lines.position(&known.prompt.name).ok_or_else(|| not_found(name))?;
    let mut prompt = known.prompt.clone();
    let changes = patch.clone().apply(&mut prompt, Timestamp::now())?;
    if patch.arguments.is_some() || patch.messages.is_some() {
        check_placeholders(&prompt)?;
    }
    if prompt.name != known.prompt.name && snapshot.is_taken(&prompt.name) {
        return Err(taken(&prompt.name));
    }
    lines.replace(at, changes, prompt).map_err(Error::internal)
}

/// Deletes one prompt of the user.
pub fn delete(lines: &mut Lines, snapshot: &Snapshot, name: &str) -> Result<()> {
    let known = writable(snapshot, name, "delete")?;
    lines.remove(&known.prompt.name);
    Ok(())
}

/// Puts records in the place of those of the same names; `None` takes one out.
pub fn put_records(lines: &mut Lines, records: &[(String, Option<String>)]) -> Result<()> {
    for (name, record) in records {
        match record {
            Some(record) => lines.put(name, record).map_err(|why| {
                Error::internal(format!("the record of the prompt `{name}`: {why}"))
            })?,
            None => lines.remove(name),
        }
    }
    Ok(())
}

/// The prompt of that name if it is the user's own.
pub fn writable<'a>(snapshot: &'a Snapshot, name: &str, verb: &str) -> Result<&'a Arc<Stored>> {
    let known = snapshot.look_up(name).ok_or_else(|| not_found(name))?;
    match known.origin.is_user() {
        true => Ok(known),
        false => Err(read_only(name, verb)),
    }
}
