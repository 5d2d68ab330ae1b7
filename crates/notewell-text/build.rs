//! Unpacks the tables of word forms, so that the program searches them in place: no work at start-up
//! and no memory beyond the pages that a look-up touches.

#![allow(
    clippy::disallowed_methods,
    reason = "cargo tells a build script by the environment where to write"
)]

use std::{env, error::Error, fs, io::Read, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let target = env::var("OUT_DIR")?;
    for name in ["forms-en.tsv", "forms-ru.tsv"] {
        let packed = format!("forms/{name}.gz");
        println!("cargo::rerun-if-changed={packed}");
        let mut text = String::new();
        flate2::read::GzDecoder::new(fs::File::open(&packed)?).read_to_string(&mut text)?;
        let lines: String =
            text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
        fs::write(Path::new(&target).join(name), lines)?;
    }
    Ok(())
}
