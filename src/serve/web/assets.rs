//! The stylesheet, the script and the icon, from memory. Their addresses carry a hash of their
//! content, so that browsers keep them for good and a new version is fetched at once.

use std::{io::Write, sync::LazyLock};

use axum::{
    body::Bytes,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

struct File {
    name: &'static str,
    kind: &'static str,
    plain: &'static [u8],
    packed: Bytes,
    version: String,
}

static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let file = |name, kind, plain: &'static [u8]| {
        let hash = Sha256::digest(plain);
        let version = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        File { name, kind, plain, packed: gzip(plain), version }
    };
    let files = vec![
        file(
            "style.css",
            "text/css; charset=utf-8",
            include_bytes!("../../../assets/web/style.css"),
        ),
        file(
            "live.js",
            "text/javascript; charset=utf-8",
            include_bytes!("../../../assets/web/live.js"),
        ),
        file(
            "board.js",
            "text/javascript; charset=utf-8",
            include_bytes!("../../../assets/web/board.js"),
        ),
        file("icon.svg", "image/svg+xml", include_bytes!("../../../assets/web/icon.svg")),
    ];
    #[cfg(feature = "passkeys")]
    let files = {
        let script = include_bytes!("../../../assets/web/passkey.js");
        let script = file("passkey.js", "text/javascript; charset=utf-8", script);
        files.into_iter().chain([script]).collect()
    };
    files
});

/// The address of a file, with its version.
pub fn address(name: &str) -> String {
    let version = FILES.iter().find(|file| file.name == name).map(|file| file.version.as_str());
    format!("/_system/web/{name}?v={}", version.unwrap_or_default())
}

/// Compresses; writing to memory cannot fail, and if it did, the text would go out uncompressed.
pub fn gzip(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    let packed = encoder.write_all(plain).and_then(|()| encoder.finish());
    packed.unwrap_or_default().into()
}

/// Whether the browser reads gzip.
pub fn reads_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| {
        accepted.split(',').any(|coding| {
            let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
            name.trim().eq_ignore_ascii_case("gzip") && quality.trim() != "q=0"
        })
    })
}

/// Whether the browser has this version.
pub fn has(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    known.is_some_and(|known| {
        known.split(',').any(|one| one.trim().trim_start_matches("W/") == etag)
    })
}

/// `GET /_system/web/{name}`.
pub async fn file(Path(name): Path<String>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let etag = format!("\"{}\"", file.version);
    let current = uri.query().and_then(|query| query.strip_prefix("v=")) == Some(&file.version);
    let keep = match current {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let common = [
        (header::CONTENT_TYPE, file.kind),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, keep),
        (header::VARY, "Accept-Encoding"),
        // An image that is opened by itself is a document too.
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'self'"),
    ];
    let mut response = match has(&headers, &etag) {
        true => (StatusCode::NOT_MODIFIED, common).into_response(),
        false if reads_gzip(&headers) && !file.packed.is_empty() => {
            ([(header::CONTENT_ENCODING, "gzip")], common, file.packed.clone()).into_response()
        }
        false => (common, file.plain).into_response(),
    };
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// `GET /manifest.webmanifest`: what a phone needs to install the pages and share to them.
pub async fn manifest() -> Response {
    (
        [
            (header::CONTENT_TYPE, "application/manifest+json"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CACHE_CONTROL, "public, max-age=3600"),
        ],
        include_str!("../../../assets/web/manifest.webmanifest"),
    )
        .into_response()
}
