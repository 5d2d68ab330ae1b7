//! The property list of a person's launchd.

use std::path::{Path, PathBuf};

use super::{super::client::Launch, MARK, STOP_GRACE_SECONDS};

/// The name by which launchd knows the server.
pub const LABEL: &str = "org.notewell.serve";
/// The name of the property list.
pub const FILE: &str = "org.notewell.serve.plist";

/// The file with what the server says.
pub fn log(data: &Path) -> PathBuf {
    data.join("serve.log")
}

/// A property list that runs `launch` and keeps its log in the data directory.
pub fn plist(launch: &Launch, data: &Path, drain: u64) -> String {
    let mut arguments = format!("        <string>{}</string>\n", escaped(&launch.command));
    for argument in &launch.arguments {
        arguments += &format!("        <string>{}</string>\n", escaped(argument));
    }
    let mut environment = String::new();
    for (name, value) in &launch.environment {
        let value = escaped(value.as_str().unwrap_or_default());
        environment += &format!("        <key>{name}</key>\n        <string>{value}</string>\n");
    }
    if !environment.is_empty() {
        environment =
            format!("    <key>EnvironmentVariables</key>\n    <dict>\n{environment}    </dict>\n");
    }
    let log = escaped(&log(data).to_string_lossy());
    let seconds = drain + STOP_GRACE_SECONDS;
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK}, which replaces it. -->
<plist version="1.0">
<dict>
    <key>Label</key>
    <string>{LABEL}</string>
    <key>ProgramArguments</key>
    <array>
{arguments}    </array>
{environment}    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <dict>
        <key>SuccessfulExit</key>
        <false/>
    </dict>
    <key>ThrottleInterval</key>
    <integer>10</integer>
    <key>ExitTimeOut</key>
    <integer>{seconds}</integer>
    <key>ProcessType</key>
    <string>Background</string>
    <key>Umask</key>
    <integer>63</integer>
    <key>SoftResourceLimits</key>
    <dict>
        <key>NumberOfFiles</key>
        <integer>65536</integer>
    </dict>
    <key>StandardErrorPath</key>
    <string>{log}</string>
</dict>
</plist>
"#
    )
}

/// Text of XML. A control character cannot be written there at all.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '&' => shown += "&amp;",
            '<' => shown += "&lt;",
            '>' => shown += "&gt;",
            c => shown.push(c),
        }
    }
    shown
}
