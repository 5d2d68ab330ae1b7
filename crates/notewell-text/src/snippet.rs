//! The part of a passage that shows why it was found.

use std::ops::Range;

use super::analyse::{Analyser, Kind, Mode};
use super::lang::Lang;
use super::script::{self, Script};
use super::sentences::sentences;

/// Shows that text was cut off.
pub const ELLIPSIS: char = '…';

/// A cut-out of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// White space is one space each, so that a snippet is one line; `…` where text was cut off.
    pub text: String,
    /// The matched forms, as byte ranges of `text`: ascending, not touching.
    pub marks: Vec<Range<usize>>,
    /// Where it is from, as a byte range of the original text.
    pub source: Range<usize>,
}

/// A matched form and which term it stands for.
struct Hit {
    range: Range<usize>,
    term: u64,
}

/// The best cut-out of `text` with at most `max_chars` characters, both ellipses included.
///
/// `matches` says whether a term of the text is one that was asked for. The window with the most
/// different terms wins, then the one with the most matches, then the first. It begins at a
/// sentence where the sentence fits.
pub fn snippet(
    analyser: &mut Analyser,
    text: &str,
    lang: Option<Lang>,
    max_chars: usize,
    matches: impl Fn(&str) -> bool,
) -> Snippet {
    let hits = find_hits(analyser, text, lang, matches);
    let room = max_chars.saturating_sub(2).max(1);
    let window = best_window(text, &hits, room);
    cut_out(text, window, &hits)
}

fn find_hits(
    analyser: &mut Analyser,
    text: &str,
    lang: Option<Lang>,
    matches: impl Fn(&str) -> bool,
) -> Vec<Hit> {
    let (mut strong, mut weak) = (Vec::new(), Vec::new());
    analyser.analyse(text, lang, Mode::Index, |token| {
        if matches(token.term) {
            let hit = Hit { range: token.range, term: fingerprint(token.term) };
            // A query for 東京 also asks for 京; showing 京都 for it would be a lie where 東京 is there.
            let hits = if token.kind == Kind::Single { &mut weak } else { &mut strong };
            // A word counts once, whether its stem, its key or both are asked for.
            if hits.last().is_none_or(|last: &Hit| last.range != hit.range) {
                hits.push(hit);
            }
        }
    });
    if strong.is_empty() { weak } else { strong }
}

fn fingerprint(term: &str) -> u64 {
    term.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn best_window(text: &str, hits: &[Hit], room: usize) -> Range<usize> {
    let sentences = sentences(text);
    let mut best: Option<((usize, usize), Range<usize>)> = None;
    let mut consider = |window: Range<usize>| {
        let score = score(hits, &window);
        if best.as_ref().is_none_or(|(top, _)| score > *top) {
            best = Some((score, window));
        }
    };
    for (index, sentence) in sentences.iter().enumerate() {
        let Some(end) = advance(text, sentence.start, room) else {
            consider(sentence.start..text.trim_end().len());
            break;
        };
        if sentence.end > end {
            for hit in hits
                .iter()
                .filter(|hit| sentence.start <= hit.range.start && hit.range.end <= sentence.end)
            {
                consider(around(text, sentence, hit, room));
            }
            consider(sentence.start..word_boundary_before(text, sentence.start, end));
            continue;
        }
        let whole =
            sentences[index..].iter().take_while(|next| next.end <= end).last().unwrap_or(sentence);
        // Half a sentence more is better than a third of the room left empty.
        let used = text[sentence.start..whole.end].chars().count();
        let until = if used * 3 < room * 2 {
            word_boundary_before(text, whole.end, end)
        } else {
            whole.end
        };
        consider(sentence.start..until.max(whole.end));
    }
    best.map_or(0..0, |(_, window)| window)
}

/// A stretch of a sentence too long to show, with a hit a quarter of the way in.
fn around(text: &str, sentence: &Range<usize>, hit: &Hit, room: usize) -> Range<usize> {
    let mut start = retreat(text, hit.range.start, room / 4).max(sentence.start);
    // The end of the sentence leaves room for more before the hit.
    if advance(text, start, room).is_none_or(|end| end > sentence.end) {
        start = retreat(text, sentence.end, room).max(sentence.start);
    }
    let start = if start > sentence.start {
        word_boundary_after(text, start, hit.range.start)
    } else {
        start
    };
    let end = advance(text, start, room).unwrap_or(text.len()).min(sentence.end);
    start..if end < sentence.end {
        word_boundary_before(text, start.max(hit.range.end.min(end)), end)
    } else {
        end
    }
}

fn score(hits: &[Hit], window: &Range<usize>) -> (usize, usize) {
    let inside =
        hits.iter().filter(|hit| window.start <= hit.range.start && hit.range.end <= window.end);
    let mut terms: Vec<u64> = inside.map(|hit| hit.term).collect();
    let all = terms.len();
    terms.sort_unstable();
    terms.dedup();
    (terms.len(), all)
}

/// The byte `chars` characters after `from`, or `None` where the text is shorter.
fn advance(text: &str, from: usize, chars: usize) -> Option<usize> {
    text[from..].char_indices().nth(chars).map(|(at, _)| from + at)
}

fn retreat(text: &str, from: usize, chars: usize) -> usize {
    text[..from].char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at)
}

/// Whether a reader would not mind a cut here.
fn is_boundary(text: &str, at: usize) -> bool {
    let (Some(left), Some(right)) = (text[..at].chars().next_back(), text[at..].chars().next())
    else {
        return true;
    };
    let (before, after) = (script::of(left), script::of(right));
    let glued = after == Script::Mark
        || left == '\u{200D}'
        || (after == Script::Emoji && before == Script::Emoji)
        || (matches!(before, Script::Hangul | Script::SouthEastAsian) && before == after);
    let in_word =
        before.is_spaced() && (after.is_spaced() || matches!(right, '\'' | '’' | '-' | '_' | '.'));
    !glued && !in_word
}

/// The last good place to cut in `from..=to`; a character boundary near `to` where there is none.
fn word_boundary_before(text: &str, from: usize, to: usize) -> usize {
    let mut at = to;
    while at > from {
        if text.is_char_boundary(at) && is_boundary(text, at) {
            return from + text[from..at].trim_end().len();
        }
        at -= 1;
    }
    whole_character_before(text, from, to)
}

/// The first good place to begin in `from..=to`.
fn word_boundary_after(text: &str, from: usize, to: usize) -> usize {
    let mut at = from;
    while at < to {
        if text.is_char_boundary(at) && is_boundary(text, at) {
            return (at + (text[at..].len() - text[at..].trim_start().len())).min(to);
        }
        at += 1;
    }
    to
}

fn whole_character_before(text: &str, from: usize, to: usize) -> usize {
    let mut at = to;
    while at > from {
        let glued = text[at..].chars().next().is_some_and(|c| script::of(c) == Script::Mark);
        if !glued && !text[..at].ends_with('\u{200D}') {
            return at;
        }
        at = retreat(text, at, 1);
    }
    to
}

fn cut_out(text: &str, source: Range<usize>, hits: &[Hit]) -> Snippet {
    let mut out = String::with_capacity(source.len() + 6);
    let mut marks: Vec<Range<usize>> = Vec::new();
    if !text[..source.start].trim().is_empty() {
        out.push(ELLIPSIS);
    }
    let inside: Vec<&Hit> = hits
        .iter()
        .filter(|hit| source.start <= hit.range.start && hit.range.end <= source.end)
        .collect();
    let mut next_hit = 0;
    let mut open: Option<(usize, usize)> = None;
    for (offset, c) in text[source.clone()].char_indices() {
        let at = source.start + offset;
        close(&mut open, &mut marks, at, out.len());
        while inside.get(next_hit).is_some_and(|hit| hit.range.start <= at) {
            let end = inside[next_hit].range.end;
            let (begun, last) = open.unwrap_or((out.len(), end));
            open = Some((begun, last.max(end)));
            next_hit += 1;
        }
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    close(&mut open, &mut marks, source.end, out.len());
    if !text[source.end..].trim().is_empty() {
        out.push(ELLIPSIS);
    }
    Snippet { text: out, marks, source }
}

/// Ends the open mark at `at`; pairs of characters side by side become one mark.
fn close(
    open: &mut Option<(usize, usize)>,
    marks: &mut Vec<Range<usize>>,
    at: usize,
    written: usize,
) {
    let Some((begun, end)) = *open else { return };
    if end > at {
        return;
    }
    *open = None;
    match marks.last_mut() {
        Some(last) if last.end == begun => last.end = written,
        _ => marks.push(begun..written),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(text: &str, query: &str, max: usize) -> (Snippet, Vec<String>) {
        let mut analyser = Analyser::new();
        let wanted: Vec<String> =
            analyser.terms(query, None, Mode::Query).into_iter().map(|t| t.term).collect();
        let snippet =
            snippet(&mut analyser, text, None, max, |term| wanted.iter().any(|want| want == term));
        let marked =
            snippet.marks.iter().map(|range| snippet.text[range.clone()].to_owned()).collect();
        (snippet, marked)
    }

    #[test]
    fn the_matched_forms_are_shown() {
        let (_, marked) = show("В субботу едем на дачу.", "суббота дачи", 100);
        assert_eq!(marked, ["субботу", "дачу"]);
        let (_, marked) = show("She was running two experiments.", "run experiment", 100);
        assert_eq!(marked, ["running", "experiments"]);
        let (_, marked) = show("Осталось два дня, люди пишут заметки.", "день человек писать", 100);
        assert_eq!(marked, ["дня", "люди", "пишут"]);
        let (_, marked) = show("The mice went home.", "mouse go", 100);
        assert_eq!(marked, ["mice", "went"]);
        let (_, marked) = show("昨日は東京都と京都に行きました。", "東京都", 100);
        assert_eq!(marked, ["東京都", "京都"]);
        let (_, marked) = show("ｶﾒﾗを買った", "カメラ", 100);
        assert_eq!(marked, ["ｶﾒﾗ"]);
        let (_, marked) = show("call getUserName() now", "user", 100);
        assert_eq!(marked, ["User"]);
    }

    #[test]
    fn the_window_begins_at_a_sentence() {
        let text = "First things come first. Nothing to see here, really nothing at all. \
                    Then the database was migrated overnight. And then we slept.";
        let (snippet, marked) = show(text, "databases migration", 60);
        assert_eq!(snippet.text, "…Then the database was migrated overnight.…");
        assert_eq!(marked, ["database", "migrated"]);
        let text = "Сначала было скучно и ничего не происходило. Потом в субботу приехали гости. Стало весело.";
        assert_eq!(
            show(text, "гость", 50).0.text,
            "…Потом в субботу приехали гости. Стало весело."
        );
        let text = "朝は雨が降っていました。昼から晴れたので公園を散歩しました。夜は寝ました。";
        assert_eq!(show(text, "公園", 22).0.text, "…昼から晴れたので公園を散歩しました。…");
    }

    #[test]
    fn long_sentences_are_cut_between_words() {
        let text = format!(
            "{}the needle lies here {}",
            "lorem ipsum dolor ".repeat(20),
            "sit amet elit ".repeat(20)
        );
        let (snippet, marked) = show(&text, "needles", 60);
        assert_eq!(marked, ["needle"]);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'), "{}", snippet.text);
        for word in snippet.text.trim_matches('…').split(' ') {
            assert!(text.split(' ').any(|whole| whole == word), "{word} in {}", snippet.text);
        }
    }

    #[test]
    fn no_match_shows_the_beginning() {
        let (snippet, marked) = show("One two three. Four five six.", "zebra", 16);
        assert_eq!((snippet.text.as_str(), marked.len()), ("One two three.…", 0));
        assert_eq!(show("", "zebra", 16).0.text, "");
        assert_eq!(show("  \n ", "zebra", 16).0.text, "");
    }

    #[test]
    fn lines_become_spaces() {
        let (snippet, marked) = show("- one\n- two   cats\n", "cat", 40);
        assert_eq!(snippet.text, "- one - two cats");
        assert_eq!(marked, ["cats"]);
    }

    proptest! {
        #[test]
        fn any_text_gives_a_snippet_within_its_room(
            text in "([a-c]{1,5}[ .]|[а-в]{1,4}[ !\n]|[東京都のa-z。]|e\u{301}|👩\u{200D}💻|\\PC){0,60}",
            query in "[a-c]{1,5} [а-в]{1,4} [東京都の]{1,3}",
            max in 5..60_usize,
        ) {
            let (snippet, _) = show(&text, &query, max);
            prop_assert!(snippet.text.chars().count() <= max, "{} of {max}", snippet.text);
            prop_assert!(text.get(snippet.source.clone()).is_some());
            let mut last = None;
            for mark in &snippet.marks {
                prop_assert!(snippet.text.get(mark.clone()).is_some_and(|form| !form.is_empty()));
                prop_assert!(last.is_none_or(|last| last < mark.start));
                last = Some(mark.end);
            }
        }
    }
}
