//! Contents of the journal, compressed with zlib. Every store keeps the same bytes.

use std::io::{Read, Result, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

pub(super) fn compress(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    encoder.finish()
}

pub(super) fn decompress(data: &[u8]) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    ZlibDecoder::new(data).read_to_end(&mut content)?;
    Ok(content)
}
