//! The environment: variables, home directory, and secrets. Nothing else reads the environment.

use std::path::{Path, PathBuf};

use super::{Embed, Llm, Remote, Stripe};
use crate::domain::{Result, error::Doing};

/// The key of the embedding provider: the environment, else the file.
pub fn embed_key(embed: &Embed) -> Result<Option<String>> {
    secret("NOTEWELL_EMBED_KEY", &embed.key_file)
}

/// The key of the language model's provider: the environment, else the file.
pub fn llm_key(llm: &Llm) -> Result<Option<String>> {
    secret("NOTEWELL_LLM_KEY", &llm.key_file)
}

/// The secret key of Stripe's API: the environment, else the file.
pub fn stripe_key(stripe: &Stripe) -> Result<Option<String>> {
    secret("NOTEWELL_STRIPE_KEY", &stripe.key_file)
}

/// The secret that Stripe signs webhooks with: the environment, else the file.
pub fn stripe_webhook_secret(stripe: &Stripe) -> Result<Option<String>> {
    secret("NOTEWELL_STRIPE_WEBHOOK_SECRET", &stripe.webhook_secret_file)
}

/// The token of `notewell push`.
pub fn push_token() -> Option<String> {
    env_text("NOTEWELL_TOKEN")
}

/// The token of another base: the config, else the file.
pub fn remote_token(remote: &Remote) -> Result<Option<String>> {
    match remote.token.is_empty() {
        true => key_file(&remote.token_file),
        false => Ok(Some(remote.token.clone())),
    }
}

/// A secret from the environment or from a file that only its owner can read.
fn secret(name: &str, file: &Path) -> Result<Option<String>> {
    if let Some(key) = env_text(name) {
        return Ok(Some(key));
    }
    key_file(file)
}

/// A secret from a file that only its owner can read; `None` where no file is named.
fn key_file(file: &Path) -> Result<Option<String>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        use crate::domain::Error;

        let mode = std::fs::metadata(file)
            .doing(format_args!("read the key file `{}`", file.display()))?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            return Err(Error::invalid_params(format!(
                "others can read the key file `{0}`; run `chmod 600 {0}`",
                file.display()
            )));
        }
    }
    let key = std::fs::read_to_string(file)
        .doing(format_args!("read the key file `{}`", file.display()))?;
    Ok(Some(key.trim().to_owned()))
}

/// The config file that the environment names.
pub fn named_file() -> Option<PathBuf> {
    env_path("NOTEWELL_CONFIG")
}

/// Where the config file is looked for when nobody names one.
pub fn default_file() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "notewell")
        .map(|dirs| dirs.config_dir().join("notewell.toml"))
}

/// The user's home, where clients keep their settings.
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf())
}

/// The folder of the user's settings, where systemd looks for units.
pub fn settings_folder() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.config_dir().to_path_buf())
}

/// The path with a leading `~` replaced by the user's home. A shell does that only where the `~` is
/// not quoted, and nobody does it in a config file.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// Whether a terminal gets colour: `NO_COLOR` and `TERM=dumb` turn it off.
pub fn wants_colour() -> bool {
    env_text("NO_COLOR").is_none() && env_text("TERM").is_none_or(|term| term != "dumb")
}

/// Where programs are looked for, to hand on to one whose environment is otherwise empty.
pub fn search_path() -> String {
    env_text("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// Whether a browser can show something to whoever runs this process.
pub fn has_display() -> bool {
    let names = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"];
    cfg!(any(windows, target_os = "macos")) || names.iter().any(|name| env_text(name).is_some())
}

/// The person's editor, for `prompt edit`.
pub fn editor() -> String {
    env_text("VISUAL").or_else(|| env_text("EDITOR")).unwrap_or_else(|| "vi".into())
}

pub(super) fn env_path(name: &str) -> Option<PathBuf> {
    env_text(name).map(|path| expand_home(Path::new(&path)))
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(super) fn env_text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
