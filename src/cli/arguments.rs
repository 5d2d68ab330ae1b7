//! The words of the command line, before they are parsed.

use std::ffi::OsString;

/// Global options that are followed by a value.
const WITH_VALUE: [&str; 3] = ["--config", "--data", "--vault"];

/// Makes `search soup -lentil --limit 3` mean what the same query means everywhere else.
///
/// The parser would take `-lentil` for options. No option has a short name but `-h` and `-V`, so
/// every other word with one dash is an excluded word of the query. They go to the end, after
/// `--`: their order among the words of a query does not matter.
pub fn excluded_words_last(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if command(&arguments).is_none_or(|command| command != "search") {
        return arguments;
    }
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let mut after = arguments.split_off(end);
    let (excluded, mut before): (Vec<_>, Vec<_>) = arguments.into_iter().partition(is_excluded);
    if excluded.is_empty() {
        before.append(&mut after);
        return before;
    }
    before.push("--".into());
    before.extend(excluded);
    before.extend(after.into_iter().skip(1));
    before
}

fn is_excluded(word: &OsString) -> bool {
    let word = word.as_encoded_bytes();
    word.len() > 1 && word[0] == b'-' && word[1] != b'-' && word != b"-h" && word != b"-V"
}

/// The subcommand: the first word that is neither the program, an option nor an option's value.
fn command(arguments: &[OsString]) -> Option<&OsString> {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        if WITH_VALUE.iter().any(|option| word == option) {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(line: &str) -> String {
        let words = line.split(' ').map(OsString::from);
        let words: Vec<String> = excluded_words_last(words)
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        words.join(" ")
    }

    #[test]
    fn excluded_words_follow_the_options() {
        assert_eq!(
            sorted("notewell search soup -lentil --limit 3"),
            "notewell search soup --limit 3 -- -lentil"
        );
        assert_eq!(
            sorted("notewell --data search search борщ -мясо -茶"),
            "notewell --data search search борщ -- -мясо -茶"
        );
        assert_eq!(sorted("notewell search a -b -- --c -d"), "notewell search a -- -b --c -d");
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for line in [
            "notewell search soup --limit 3",
            "notewell search -h",
            "notewell call search -x",
            "notewell read -x",
            "notewell -V",
            "notewell",
            "notewell search a - b",
        ] {
            assert_eq!(sorted(line), line);
        }
    }
}
