//! Which licence a repository has, as an SPDX identifier, read from the text of the licence itself.

use super::tree::{File, Tree};

/// The licence and the file that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    /// None if the text of the file is not a known licence.
    pub spdx: Option<String>,
    pub file: String,
}

/// Phrases that identify a licence; a text must have all of them, and none that starts with `!`. The
/// first match wins, so a licence comes before those whose text it contains.
const TEXTS: &[(&str, &[&str])] = &[
    ("AGPL-3.0", &["gnu affero general public license", "version 3"]),
    ("LGPL-3.0", &["gnu lesser general public license", "version 3"]),
    ("LGPL-2.1", &["gnu lesser general public license", "version 2.1"]),
    ("GPL-3.0", &["gnu general public license", "version 3, 29 june 2007"]),
    ("GPL-2.0", &["gnu general public license", "version 2, june 1991"]),
    ("Apache-2.0", &["apache license", "version 2.0, january 2004"]),
    ("MPL-2.0", &["mozilla public license version 2.0"]),
    ("EPL-2.0", &["eclipse public license - v 2.0"]),
    ("EUPL-1.2", &["european union public licence", "v. 1.2"]),
    ("BSL-1.0", &["boost software license - version 1.0"]),
    ("CC0-1.0", &["cc0 1.0 universal"]),
    ("CC-BY-SA-4.0", &["attribution-sharealike 4.0 international"]),
    ("CC-BY-4.0", &["attribution 4.0 international"]),
    ("Unlicense", &["free and unencumbered software released into the public domain"]),
    ("WTFPL", &["do what the fuck you want to public license"]),
    ("Artistic-2.0", &["the artistic license 2.0"]),
    ("BUSL-1.1", &["business source license 1.1"]),
    ("SSPL-1.0", &["server side public license"]),
    (
        "Zlib",
        &[
            "provided 'as-is', without any express or implied warranty",
            "must not be misrepresented",
        ],
    ),
    (
        "BSD-4-Clause",
        &[
            "redistribution and use in source and binary forms",
            "all advertising materials mentioning",
        ],
    ),
    ("BSD-3-Clause", &["redistribution and use in source and binary forms", "neither the name"]),
    (
        "BSD-2-Clause",
        &[
            "redistribution and use in source and binary forms",
            "provided that the following conditions",
        ],
    ),
    (
        "MIT-0",
        &[
            "permission is hereby granted, free of charge, to any person obtaining a copy",
            "!shall be included in all",
        ],
    ),
    (
        "MIT",
        &[
            "permission is hereby granted, free of charge, to any person obtaining a copy",
            "shall be included in all",
        ],
    ),
    (
        "0BSD",
        &[
            "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted",
            "!provided that the above copyright notice",
        ],
    ),
    (
        "ISC",
        &[
            "permission to use, copy, modify, and",
            "distribute this software for any purpose with or without fee is hereby granted, provided that the above copyright notice",
        ],
    ),
];

/// Whether a text is an SPDX expression. Anything else of a repository must not get into a report.
fn is_expression(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 60
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " .-+()".contains(c))
}

pub fn find(tree: &Tree) -> Option<Licence> {
    let mut files: Vec<&File> = tree.files.iter().filter(|file| is_licence(file)).collect();
    // The shortest name is the main one: LICENSE before LICENSE-THIRD-PARTY.
    files
        .sort_by_key(|file| (file.path.matches('/').count(), file.name().len(), file.path.clone()));
    let file = files.first()?;
    let mut known: Vec<String> = Vec::new();
    let top = file.path.matches('/').count();
    for file in files.iter().filter(|file| file.path.matches('/').count() == top) {
        if let Some(spdx) = identify(file.text())
            && !known.contains(&spdx)
        {
            known.push(spdx);
        }
    }
    known.sort();
    let spdx = (!known.is_empty()).then(|| known.join(" OR "));
    Some(Licence { spdx, file: file.path.clone() })
}

fn is_licence(file: &File) -> bool {
    let name = file.name().to_lowercase();
    let stem = ["license", "licence", "copying", "unlicense"];
    let fits = stem.iter().any(|stem| name.starts_with(stem));
    let plain = matches!(file.ending().as_str(), "" | "md" | "txt" | "rst" | "0")
        || name.contains("license-")
        || name.contains("licence-");
    let place = !file.path.contains('/') || file.path.to_uppercase().starts_with("LICENSES/");
    fits && plain && place || place && file.path.to_uppercase().starts_with("LICENSES/")
}

/// Identifies a licence by its text.
pub fn identify(text: &str) -> Option<String> {
    let plain: Vec<&str> = text.split_whitespace().collect();
    let plain =
        plain.join(" ").to_lowercase().replace(['’', '‘', '`'], "'").replace(['“', '”'], "\"");
    let holds = |phrase: &&str| match phrase.strip_prefix('!') {
        Some(phrase) => !plain.contains(phrase),
        None => plain.contains(*phrase),
    };
    if let Some((spdx, _)) = TEXTS.iter().find(|(_, phrases)| phrases.iter().all(&holds)) {
        return Some((*spdx).to_owned());
    }
    let tag = text.lines().find_map(|line| line.split_once("SPDX-License-Identifier:"));
    tag.map(|(_, rest)| rest.trim().trim_end_matches("*/").trim().to_owned())
        .filter(|text| is_expression(text))
}

#[cfg(test)]
mod tests {
    use super::{super::tree::tests::tree, *};

    #[test]
    fn texts_are_told_apart() {
        let mit = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining\na copy of this software. The above copyright notice shall be included in all copies.";
        let apache = "                Apache License\n           Version 2.0, January 2004\n http://www.apache.org/licenses/";
        let bsd3 = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided that the following conditions are met: Neither the name of";
        for (text, spdx) in [
            (mit, Some("MIT")),
            (apache, Some("Apache-2.0")),
            (bsd3, Some("BSD-3-Clause")),
            ("GNU GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007", Some("GPL-3.0")),
            ("GNU AFFERO GENERAL PUBLIC LICENSE\n  Version 3, 19 November 2007", Some("AGPL-3.0")),
            ("// SPDX-License-Identifier: MIT OR Apache-2.0", Some("MIT OR Apache-2.0")),
            ("SPDX-License-Identifier: <script>", None),
            ("All rights reserved.", None),
        ] {
            assert_eq!(identify(text).as_deref(), spdx, "{text}");
        }
        let both =
            tree(&[("LICENSE-MIT", mit), ("LICENSE-APACHE", apache), ("src/license.rs", "x")]);
        assert_eq!(find(&both).unwrap().spdx.as_deref(), Some("Apache-2.0 OR MIT"));
        let unknown = tree(&[("LICENSE", "Mine.")]);
        assert_eq!(find(&unknown).unwrap(), Licence { spdx: None, file: "LICENSE".into() });
        assert_eq!(find(&tree(&[("README.md", mit)])), None);
    }
}
