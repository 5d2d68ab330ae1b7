//! Known vulnerabilities of locked packages, from an OSV endpoint or a folder of OSV records.
//!
//! If neither is set, or it fails, the check is not made and the report says why.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};

use super::{lockfiles::Package, version::compare};

/// Packages in one request to an endpoint.
const BATCH: usize = 500;
/// The most bytes of one record or one answer.
const MAX_BYTES: u64 = 32 << 20;

/// The known vulnerabilities of the packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// Why the check was not made.
    NotChecked(String),
    /// Each vulnerable package with the ids of its vulnerabilities.
    Checked { by: String, found: Vec<(Package, Vec<String>)> },
}

pub fn look(packages: &[Package], osv: &str) -> Known {
    if osv.is_empty() {
        return Known::NotChecked("no OSV source is set in `[oss] osv`".into());
    }
    let found = if osv.starts_with("https://") || osv.starts_with("http://") {
        ask(packages, osv)
    } else {
        read(packages, Path::new(osv))
    };
    match found {
        Ok(mut found) => {
            found.sort();
            Known::Checked { by: osv.to_owned(), found }
        }
        Err(why) => Known::NotChecked(why),
    }
}

type Affected = Vec<(Package, Vec<String>)>;

fn ask(packages: &[Package], base: &str) -> Result<Affected, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(30)))
        .http_status_as_error(false)
        .build()
        .into();
    let endpoint = format!("{}/v1/querybatch", base.trim_end_matches('/'));
    let mut found = Vec::new();
    for part in packages.chunks(BATCH) {
        let queries: Vec<Value> = part
            .iter()
            .map(|p| json!({ "package": { "ecosystem": p.ecosystem, "name": p.name }, "version": p.version }))
            .collect();
        let mut response = agent
            .post(&endpoint)
            .send_json(json!({ "queries": queries }))
            .map_err(|error| format!("`{endpoint}` could not be asked: {error}"))?;
        if !response.status().is_success() {
            return Err(format!("`{endpoint}` answered {}", response.status().as_u16()));
        }
        let text = response.body_mut().with_config().limit(MAX_BYTES).read_to_string();
        let text = text.map_err(|error| format!("`{endpoint}` did not answer whole: {error}"))?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let results = answer["results"].as_array().filter(|results| results.len() == part.len());
        let results = results.ok_or_else(|| format!("`{endpoint}` did not answer as OSV does"))?;
        for (package, result) in part.iter().zip(results) {
            let ids = result["vulns"].as_array().into_iter().flatten();
            let ids: Vec<String> =
                ids.filter_map(|v| v["id"].as_str().map(str::to_owned)).collect();
            if !ids.is_empty() {
                found.push((package.clone(), ids));
            }
        }
    }
    Ok(found)
}

/// Records of a folder: `.json` files and `.zip` files of them, at any depth.
fn read(packages: &[Package], folder: &Path) -> Result<Affected, String> {
    if !folder.is_dir() {
        return Err(format!("there is no folder `{}` (`[oss] osv`)", folder.display()));
    }
    let mut wanted: BTreeMap<(&str, String), Vec<&Package>> = BTreeMap::new();
    for package in packages {
        wanted.entry((package.ecosystem, package.name.to_lowercase())).or_default().push(package);
    }
    let mut found: BTreeMap<&Package, BTreeSet<String>> = BTreeMap::new();
    let mut records = 0;
    walk(folder, &mut |text| {
        let Ok(record) = serde_json::from_str::<Value>(text) else { return };
        let Some(id) = record["id"].as_str() else { return };
        records += 1;
        if !record["withdrawn"].is_null() {
            return;
        }
        for affected in record["affected"].as_array().into_iter().flatten() {
            let name = &affected["package"];
            // `Debian:12` and the like: the part before the colon is the registry.
            let ecosystem = name["ecosystem"].as_str().unwrap_or_default();
            let ecosystem = ecosystem.split(':').next().unwrap_or_default();
            let name = name["name"].as_str().unwrap_or_default().to_lowercase();
            for package in wanted.get(&(ecosystem, name)).into_iter().flatten() {
                if affects(affected, &package.version) {
                    found.entry(package).or_default().insert(id.to_owned());
                }
            }
        }
    });
    if records == 0 {
        return Err(format!("`{}` holds no OSV records", folder.display()));
    }
    Ok(found.into_iter().map(|(p, ids)| (p.clone(), ids.into_iter().collect())).collect())
}

fn walk(folder: &Path, take: &mut dyn FnMut(&str)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if path.is_dir() {
            walk(&path, take);
        } else if ending == "json" {
            if let Ok(text) = std::fs::read_to_string(&path) {
                take(&text);
            }
        } else if ending == "zip" {
            let archive =
                std::fs::File::open(&path).ok().and_then(|file| zip::ZipArchive::new(file).ok());
            let Some(mut archive) = archive else { continue };
            for number in 0..archive.len() {
                let Ok(file) = archive.by_index(number) else { continue };
                let mut text = String::new();
                if file.name().is_ok_and(|name| name.ends_with(".json"))
                    && file.take(MAX_BYTES).read_to_string(&mut text).is_ok()
                {
                    take(&text);
                }
            }
        }
    }
}

fn affects(affected: &Value, version: &str) -> bool {
    let listed = affected["versions"].as_array().into_iter().flatten();
    if listed.filter_map(Value::as_str).any(|one| compare(one, version) == Ordering::Equal) {
        return true;
    }
    affected["ranges"].as_array().into_iter().flatten().any(|range| {
        let mut inside = false;
        if range["type"] == "GIT" {
            return false;
        }
        for event in range["events"].as_array().into_iter().flatten() {
            if let Some(from) = event["introduced"].as_str() {
                inside |= from == "0" || compare(version, from) != Ordering::Less;
            } else if let Some(fixed) = event["fixed"].as_str() {
                inside &= compare(version, fixed) == Ordering::Less;
            } else if let Some(last) = event["last_affected"].as_str() {
                inside &= compare(version, last) != Ordering::Greater;
            }
        }
        inside
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn package(name: &str, version: &str) -> Package {
        Package {
            ecosystem: "npm",
            name: name.into(),
            version: version.into(),
            file: "package-lock.json".into(),
        }
    }

    const RECORD: &str = r#"{"id":"GHSA-1","affected":[{"package":{"ecosystem":"npm","name":"left"},
        "ranges":[{"type":"SEMVER","events":[{"introduced":"1.0.0"},{"fixed":"1.2.0"},{"introduced":"2.0.0"},{"last_affected":"2.1.0"}]}]}]}"#;

    #[test]
    fn ranges_are_followed() {
        let record: Value = serde_json::from_str(RECORD).unwrap();
        for (version, hit) in [
            ("0.9.0", false),
            ("1.0.0", true),
            ("1.1.9", true),
            ("1.2.0", false),
            ("1.9.0", false),
            ("2.0.0", true),
            ("2.1.0", true),
            ("2.1.1", false),
        ] {
            assert_eq!(affects(&record["affected"][0], version), hit, "{version}");
        }
    }

    #[test]
    fn a_folder_of_records_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("npm")).unwrap();
        std::fs::File::create(dir.path().join("npm/GHSA-1.json"))
            .unwrap()
            .write_all(RECORD.as_bytes())
            .unwrap();
        std::fs::File::create(dir.path().join("broken.json")).unwrap().write_all(b"{").unwrap();
        let packages =
            [package("left", "1.1.0"), package("left", "3.0.0"), package("right", "1.1.0")];
        let osv = dir.path().to_str().unwrap();
        assert_eq!(
            look(&packages, osv),
            Known::Checked {
                by: osv.into(),
                found: vec![(package("left", "1.1.0"), vec!["GHSA-1".into()])]
            }
        );
        for (osv, why) in [
            ("", "no OSV source"),
            ("/no/such/folder", "no folder"),
            ("http://127.0.0.1:1", "could not be asked"),
        ] {
            let Known::NotChecked(reason) = look(&packages, osv) else { panic!("{osv} was asked") };
            assert!(reason.contains(why), "{reason}");
        }
    }
}
