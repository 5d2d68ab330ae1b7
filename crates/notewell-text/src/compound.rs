//! Words of the scripts that separate them, and what people build from words: `e-mail`,
//! `snake_case`, `getUserName`, `C++`, `.NET`, `1.2.3`, `o'clock`, host names and addresses.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::analyse::{Kind, Mode, Scan, Token};
use super::fold;
use super::script::{self, Script};

/// More pieces than this is a dotted path or encoded data: its pieces are kept, the whole is not.
const MAX_PIECES: usize = 12;

/// More changes between letters and digits than this is a hash, not a name.
const MAX_DIGIT_CUTS: usize = 2;

/// A run of letters and digits of one script.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    range: Range<usize>,
    script: Script,
    /// What joins it to the piece before; `None` at the start and where only the script changes.
    joint: Option<char>,
    /// Holds an apostrophe, a comma or a gershayim between its letters.
    knotted: bool,
}

impl<F: FnMut(Token<'_>)> Scan<'_, '_, F> {
    /// Reads one compound at `start`; returns where it ends.
    pub(super) fn compound(&mut self, start: usize, after_dot: bool) -> usize {
        let mut pieces = std::mem::take(&mut self.analyser.buffers.pieces);
        pieces.clear();
        let end = read_pieces(self.text, start, &mut pieces);
        if after_dot && self.mode != Mode::Phrase && self.text[pieces[0].range.clone()].is_ascii() {
            self.dotted(&pieces[0]);
        }
        let end = match pieces.as_slice() {
            [only] => self.single(only, after_sharp(self.text, only)).max(end),
            _ if is_acronym(self.text, &pieces) => {
                self.join(&pieces, Kind::Word);
                self.position += 1;
                end
            }
            _ => {
                self.joined(&pieces);
                end
            }
        };
        self.analyser.buffers.pieces = pieces;
        end
    }

    /// `.NET` and `.env` are also found with their dot.
    fn dotted(&mut self, piece: &Piece) {
        let range = piece.range.start - 1..piece.range.end;
        let mut joined = std::mem::take(&mut self.analyser.buffers.joined);
        joined.clear();
        joined.push_str(&self.text[range.clone()]);
        joined.make_ascii_lowercase();
        joined.truncate(fold::MAX_WORD);
        self.emit(&joined, range, Kind::Whole);
        self.analyser.buffers.joined = joined;
    }

    /// The pieces in their order, and before them each stretch of one script as one word.
    fn joined(&mut self, pieces: &[Piece]) {
        let mut rest = pieces;
        while let Some(first) = rest.first() {
            let mut script = first.script;
            let mut len = 1;
            for piece in &rest[1..] {
                let same = piece.script == script
                    || piece.script == Script::Digit
                    || script == Script::Digit;
                if piece.joint.is_none() || !same {
                    break;
                }
                if script == Script::Digit {
                    script = piece.script;
                }
                len += 1;
            }
            let (stretch, after) = rest.split_at(len);
            if (2..=MAX_PIECES).contains(&len) && self.mode != Mode::Phrase {
                self.join(stretch, Kind::Whole);
            }
            for piece in stretch {
                self.single(piece, None);
            }
            rest = after;
        }
    }

    /// Emits the pieces run together. Joints stay between digits: `1.2.3` is not `123`.
    fn join(&mut self, pieces: &[Piece], kind: Kind) {
        let mut buffers = std::mem::take(&mut self.analyser.buffers);
        buffers.joined.clear();
        let mut script = Script::Digit;
        for (index, piece) in pieces.iter().enumerate() {
            fold::fold_word(&self.text[piece.range.clone()], &mut buffers.lower, &mut buffers.bare);
            if piece.knotted {
                buffers.bare.retain(|c| !matches!(c, '\'' | ',' | '"'));
            }
            let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            if index > 0
                && digits(buffers.joined.chars().last())
                && digits(buffers.bare.chars().next())
            {
                buffers.joined.extend(piece.joint);
            }
            buffers.joined.push_str(&buffers.bare);
            if piece.script != Script::Digit {
                script = piece.script;
            }
        }
        buffers.joined.truncate(fold::floor_char(&buffers.joined, 2 * fold::MAX_WORD));
        let joined = std::mem::take(&mut buffers.joined);
        self.analyser.buffers = buffers;
        if let (Some(first), Some(last)) = (pieces.first(), pieces.last()) {
            self.word(script, &joined, &joined, first.range.start..last.range.end, kind);
        }
        self.analyser.buffers.joined = joined;
    }

    /// One piece at one position: the word, then its parts. Returns where it ends.
    fn single(&mut self, piece: &Piece, sharp: Option<&'static str>) -> usize {
        let raw = &self.text[piece.range.clone()];
        let mut range = piece.range.clone();
        let mut lower = std::mem::take(&mut self.analyser.buffers.lower);
        let mut bare = std::mem::take(&mut self.analyser.buffers.bare);
        fold::fold_word(raw, &mut lower, &mut bare);
        if piece.knotted {
            lower.retain(|c| c != ',' && c != '"');
            bare.retain(|c| c != ',' && c != '"');
        }
        if let Some(sharp) = sharp {
            range.end += sharp.len();
            let mut joined = std::mem::take(&mut self.analyser.buffers.joined);
            joined.clear();
            joined.push_str(&bare);
            joined.push_str(sharp);
            self.emit(&joined, range.clone(), Kind::Word);
            self.analyser.buffers.joined = joined;
            // Who asks for `C` also means `C++`, who asks for `C++` does not mean `C`.
            if self.mode == Mode::Index {
                self.word(piece.script, &lower, &bare, piece.range.clone(), Kind::Part);
            }
        } else if piece.knotted && bare.contains('\'') {
            self.apostrophe(piece, &mut lower, &mut bare);
        } else if !bare.is_empty() {
            self.word(piece.script, &lower, &bare, piece.range.clone(), Kind::Word);
            if self.mode != Mode::Phrase {
                self.parts(piece, &mut lower, &mut bare);
            }
        }
        self.analyser.buffers.lower = lower;
        self.analyser.buffers.bare = bare;
        self.position += 1;
        range.end
    }

    fn parts(&mut self, piece: &Piece, lower: &mut String, bare: &mut String) {
        let raw = &self.text[piece.range.clone()];
        let mut cuts = std::mem::take(&mut self.analyser.buffers.cuts);
        find_cuts(raw, &mut cuts);
        let mut from = 0;
        for to in cuts.iter().copied().chain((!cuts.is_empty()).then_some(raw.len())) {
            fold::fold_word(&raw[from..to], lower, bare);
            let range = piece.range.start + from..piece.range.start + to;
            self.word(piece.script, lower, bare, range, Kind::Part);
            from = to;
        }
        self.analyser.buffers.cuts = cuts;
    }

    /// `it's` is `it`, `l'été` is `été`, `don't` is `dont`, `O'Brien` is `obrien` and `brien`.
    fn apostrophe(&mut self, piece: &Piece, lower: &mut String, bare: &mut String) {
        let meaning =
            if piece.script == Script::Latin { read_apostrophe(bare) } else { Apostrophe::Joins };
        match meaning {
            Apostrophe::Head => {
                for word in [&mut *lower, &mut *bare] {
                    word.truncate(word.rfind('\'').unwrap_or(word.len()));
                    word.retain(|c| c != '\'');
                }
                self.word(piece.script, lower, bare, piece.range.clone(), Kind::Word);
            }
            Apostrophe::Tail => {
                for word in [&mut *lower, &mut *bare] {
                    word.drain(..word.rfind('\'').map_or(0, |at| at + 1));
                }
                self.word(piece.script, lower, bare, piece.range.clone(), Kind::Word);
            }
            Apostrophe::Joins => {
                let tail = bare.rfind('\'').map_or(0, |at| at + 1);
                let last = bare[tail..].to_owned();
                lower.retain(|c| c != '\'');
                bare.retain(|c| c != '\'');
                self.word(piece.script, lower, bare, piece.range.clone(), Kind::Word);
                if last.chars().count() > 2 && self.mode != Mode::Phrase {
                    self.word(piece.script, &last, &last, piece.range.clone(), Kind::Part);
                }
            }
        }
    }
}

enum Apostrophe {
    Head,
    Tail,
    Joins,
}

fn read_apostrophe(word: &str) -> Apostrophe {
    let Some((head, tail)) = word.rsplit_once('\'') else { return Apostrophe::Joins };
    if head.is_empty() || tail.is_empty() {
        return Apostrophe::Joins;
    }
    if matches!(tail, "s" | "re" | "ve" | "ll" | "d" | "m") {
        return Apostrophe::Head;
    }
    let first = head.rsplit('\'').next().unwrap_or(head);
    if ELIDED.contains(&first) { Apostrophe::Tail } else { Apostrophe::Joins }
}

/// French and Italian words that lose their vowel before another.
const ELIDED: [&str; 22] = [
    "l", "d", "j", "m", "n", "t", "s", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "un",
    "all", "dall", "dell", "nell", "sull", "quell", "quest", "bell",
];

/// Splits at connectors and where the script changes; digits belong to either side.
fn read_pieces(text: &str, start: usize, pieces: &mut Vec<Piece>) -> usize {
    let bytes = text.as_bytes();
    let mut joint = None;
    let mut at = start;
    loop {
        let (mut piece, end) = read_piece(text, at);
        piece.joint = joint.take();
        pieces.push(piece);
        at = end;
        let next = bytes.get(at).copied();
        let connector = match next {
            None => return at,
            Some(byte) if byte.is_ascii() => {
                matches!(byte, b'-' | b'_' | b'.' | b'@').then(|| char::from(byte))
            }
            Some(_) => match text[at..].chars().next() {
                Some('‐' | '‑') => Some('-'),
                Some(c) if is_word(c) => {
                    continue;
                }
                _ => None,
            },
        };
        let Some(connector) = connector else {
            if next.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
                continue;
            }
            return at;
        };
        let after = at + text[at..].chars().next().map_or(1, char::len_utf8);
        if !text[after..].chars().next().is_some_and(is_word) {
            return at;
        }
        joint = Some(connector);
        at = after;
    }
}

fn is_word(c: char) -> bool {
    let script = script::of(c);
    script.is_spaced() && script != Script::Mark
}

/// The longest run of one script from `start`, apostrophes between letters and commas in numbers included.
fn read_piece(text: &str, start: usize) -> (Piece, usize) {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() && bytes[at].is_ascii_lowercase() {
        at += 1;
    }
    let mut knotted = false;
    let mut script = if at > start { Script::Latin } else { Script::Digit };
    while at < bytes.len() {
        if bytes[at].is_ascii_alphabetic() && script == Script::Latin || bytes[at].is_ascii_digit()
        {
            at += 1;
            continue;
        }
        let Some(c) = text[at..].chars().next() else { break };
        let next = at + c.len_utf8();
        match script::of(c) {
            Script::Mark | Script::Digit => at = next,
            found if found.is_spaced() => {
                if script == Script::Digit {
                    script = found;
                } else if script != found {
                    break;
                }
                at = next;
            }
            _ => {
                if !joins_inside(text, at, c, next, script) {
                    break;
                }
                knotted = true;
                at = next;
            }
        }
    }
    (Piece { range: start..at, script, joint: None, knotted }, at)
}

/// An apostrophe between letters, a gershayim inside Hebrew, a comma before three digits.
fn joins_inside(text: &str, at: usize, c: char, next: usize, script: Script) -> bool {
    let follows = text[next..].chars().next();
    match c {
        '\'' | '’' | 'ʼ' | '＇' => {
            script != Script::Digit && follows.is_some_and(|c| script::of(c) == script)
        }
        '"' | '״' | '׳' => {
            script == Script::Hebrew && follows.is_some_and(|c| script::of(c) == script)
        }
        '·' => {
            script == Script::Latin
                && text[..at].ends_with(['l', 'L'])
                && text[next..].starts_with(['l', 'L'])
        }
        ',' => {
            let rest = &text.as_bytes()[next..];
            script == Script::Digit
                && rest.len() >= 3
                && rest[..3].iter().all(u8::is_ascii_digit)
                && !rest.get(3).is_some_and(u8::is_ascii_alphanumeric)
        }
        _ => false,
    }
}

/// `C++`, `g++`, `C#`, `F#`: the sign right after a single word.
fn after_sharp(text: &str, piece: &Piece) -> Option<&'static str> {
    let rest = &text[piece.range.end..];
    let sign = match rest.as_bytes().first()? {
        b'+' if rest.starts_with("++") => "++",
        b'#' if piece.range.len() == 1 => "#",
        _ => return None,
    };
    let ends =
        rest[sign.len()..].chars().next().is_none_or(|c| !is_word(c) && c != '+' && c != '#');
    (ends && piece.script == Script::Latin).then_some(sign)
}

/// `U.S.A.`, `т.е.`: single letters between full stops.
fn is_acronym(text: &str, pieces: &[Piece]) -> bool {
    pieces.iter().all(|piece| {
        piece.joint.is_none_or(|joint| joint == '.')
            && piece.script != Script::Digit
            && piece.script == pieces[0].script
            && text[piece.range.clone()].chars().filter(|c| script::of(*c) != Script::Mark).count()
                == 1
    }) && pieces[1..].iter().all(|piece| piece.joint.is_some())
}

/// The characters of `word` that stand on their own, however it is composed.
fn letters(word: &str) -> usize {
    word.nfc().filter(|c| script::of(*c) != Script::Mark).count()
}

/// Where a name changes from word to word: `get|User|Name`, `HTTP|Server|2`.
fn find_cuts(raw: &str, cuts: &mut Vec<usize>) {
    cuts.clear();
    let bytes = raw.as_bytes();
    // Most words are lower case after their first letter and have no digits.
    if raw.is_ascii() && bytes.iter().skip(1).all(u8::is_ascii_lowercase) {
        return;
    }
    let mut digit_cuts = 0;
    let mut before: Option<(Case, usize)> = None;
    let mut run = 0;
    for (at, c) in raw.char_indices() {
        let case = match script::of(c) {
            Script::Mark => continue,
            Script::Digit => Case::Digit,
            _ if c.is_uppercase() => Case::Upper,
            _ => Case::Lower,
        };
        if let Some((last, last_at)) = before {
            let digits = (last == Case::Digit) != (case == Case::Digit);
            digit_cuts += usize::from(digits);
            if digits || (last == Case::Lower && case == Case::Upper) {
                cuts.push(at);
                run = 0;
            } else if last == Case::Upper && case == Case::Lower && run > 1 {
                cuts.push(last_at);
                run = 1;
            }
        }
        run += 1;
        before = Some((case, at));
    }
    if digit_cuts > MAX_DIGIT_CUTS || cuts.len() >= MAX_PIECES {
        cuts.clear();
        return;
    }
    if digit_cuts > 0 {
        keep_short_with_digits(raw, cuts);
    }
}

/// `v2`, `k8s`, `3d` stay whole: a single letter beside a digit is no word.
fn keep_short_with_digits(raw: &str, cuts: &mut Vec<usize>) {
    let mut index = 0;
    while index < cuts.len() {
        let start = if index == 0 { 0 } else { cuts[index - 1] };
        let end = cuts.get(index + 1).copied().unwrap_or(raw.len());
        let (left, right) = (&raw[start..cuts[index]], &raw[cuts[index]..end]);
        let is_number = |part: &str| part.chars().any(|c| script::of(c) == Script::Digit);
        let lone = |part: &str| !is_number(part) && letters(part) == 1;
        if is_number(left) != is_number(right) && (lone(left) || lone(right)) {
            cuts.remove(index);
        } else {
            index += 1;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Lower,
    Upper,
    Digit,
}
