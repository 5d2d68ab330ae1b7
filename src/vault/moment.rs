//! Dates in the format language of moment.js, which Obsidian's settings and templates use.

use jiff::Zoned;

/// What a token of a format gives; `None` for what is no token.
fn token(name: &str, at: &Zoned) -> Option<String> {
    let week = at.date().iso_week_date();
    let hour12 = (at.hour() + 11) % 12 + 1;
    let weekday = at.weekday();
    let ordinal = |number: i16| {
        let ending = match (number % 10, number % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        format!("{number}{ending}")
    };
    Some(match name {
        "YYYY" | "Y" => format!("{:04}", at.year()),
        "YY" => format!("{:02}", at.year().rem_euclid(100)),
        "GGGG" | "gggg" => format!("{:04}", week.year()),
        "GG" | "gg" => format!("{:02}", week.year().rem_euclid(100)),
        "Q" => ((at.month() - 1) / 3 + 1).to_string(),
        "M" => at.month().to_string(),
        "Mo" => ordinal(at.month().into()),
        "MM" => format!("{:02}", at.month()),
        "MMM" => at.strftime("%b").to_string(),
        "MMMM" => at.strftime("%B").to_string(),
        "D" => at.day().to_string(),
        "Do" => ordinal(at.day().into()),
        "DD" => format!("{:02}", at.day()),
        "DDD" => at.day_of_year().to_string(),
        "DDDD" => format!("{:03}", at.day_of_year()),
        "d" | "e" => weekday.to_sunday_zero_offset().to_string(),
        "dd" => at.strftime("%a").to_string().chars().take(2).collect(),
        "ddd" => at.strftime("%a").to_string(),
        "dddd" => at.strftime("%A").to_string(),
        "E" => weekday.to_monday_one_offset().to_string(),
        "W" | "w" => week.week().to_string(),
        "WW" | "ww" => format!("{:02}", week.week()),
        "H" => at.hour().to_string(),
        "HH" => format!("{:02}", at.hour()),
        "h" => hour12.to_string(),
        "hh" => format!("{hour12:02}"),
        "m" => at.minute().to_string(),
        "mm" => format!("{:02}", at.minute()),
        "s" => at.second().to_string(),
        "ss" => format!("{:02}", at.second()),
        "SSS" => format!("{:03}", at.millisecond()),
        "A" => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        "a" => if at.hour() < 12 { "am" } else { "pm" }.to_owned(),
        "Z" => at.strftime("%:z").to_string(),
        "ZZ" => at.strftime("%z").to_string(),
        "X" => at.timestamp().as_second().to_string(),
        "x" => at.timestamp().as_millisecond().to_string(),
        "L" => at.strftime("%m/%d/%Y").to_string(),
        "LT" => format!("{hour12}:{:02} {}", at.minute(), if at.hour() < 12 { "AM" } else { "PM" }),
        _ => return None,
    })
}

/// The longest token has four characters.
const MAX_TOKEN: usize = 4;

/// Writes a moment in a format. `[text]` stands for itself, and so does what is no token.
pub fn format(format: &str, at: &Zoned) -> String {
    let mut written = String::new();
    let mut rest = format;
    while let Some(c) = rest.chars().next() {
        if c == '['
            && let Some(end) = rest.find(']')
        {
            written.push_str(&rest[1..end]);
            rest = &rest[end + 1..];
            continue;
        }
        let found = (1..=MAX_TOKEN).rev().find_map(|len| {
            let name =
                rest.get(..len).filter(|name| name.bytes().all(|b| b.is_ascii_alphabetic()))?;
            Some((len, token(name, at)?))
        });
        match found {
            Some((len, text)) => {
                written.push_str(&text);
                rest = &rest[len..];
            }
            None => {
                written.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_read_as_in_obsidian() {
        let at: Zoned = "2026-03-01T09:05:07[UTC]".parse().unwrap();
        for (wanted, expected) in [
            ("YYYY-MM-DD", "2026-03-01"),
            ("YYYY/MM-MMMM/YYYY-MM-DD-dddd", "2026/03-March/2026-03-01-Sunday"),
            ("D. MMM YY, HH:mm", "1. Mar 26, 09:05"),
            ("[Дневник] Do [at] h:mm A", "Дневник 1st at 9:05 AM"),
            ("YYYY年M月D日", "2026年3月1日"),
            ("GGGG-[W]WW", "2026-W09"),
            ("DDDD E ss", "060 7 07"),
        ] {
            assert_eq!(format(wanted, &at), expected);
        }
    }
}
