//! Pictures of cards: shown under the rights of their card, and added by upload.

use axum::{
    extract::Path,
    http::header,
    response::{IntoResponse, Response},
};

use super::{access::CardAccess, edit::missing};
use crate::{
    domain::{
        Error, Result,
        card::{CardChange, Image},
    },
    serve::web::{Reply, Upload, Visit, encode, errors},
};

/// The kinds of pictures that browsers show and that cannot carry a script.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// `GET /cards/{id}/pictures/{n}`.
pub async fn show(Path((id, n)): Path<(String, usize)>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            let Some(access) = CardAccess::to_read(visit) else {
                return Ok(Reply::from(errors::forbidden(visit)));
            };
            let image = access.image(&id, n).map_err(missing)?;
            Ok(Reply::from(answer(image)))
        })
        .await
}

/// The bytes decide what a picture is, not what was declared. Anything else is a file to save.
fn answer(image: Image) -> Response {
    let kind = kind_of(&image.bytes);
    let shown = match kind {
        Some(_) => "inline",
        None => "attachment",
    };
    (
        [
            (header::CONTENT_TYPE, kind.unwrap_or("application/octet-stream")),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CACHE_CONTROL, "no-store"),
            (header::CONTENT_DISPOSITION, shown),
            (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
            (header::REFERRER_POLICY, "no-referrer"),
        ],
        image.bytes,
    )
        .into_response()
}

/// What the bytes of a picture are, of the kinds that are shown.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    let image = Image::parse(&Image::base64(bytes))?;
    SHOWN.into_iter().find(|kind| *kind == image.mime)
}

/// `POST /cards/{id}/pictures`.
pub async fn add(Path(id): Path<String>, upload: Upload) -> Response {
    let visit = upload.visit.clone();
    visit
        .run(move |visit| match CardAccess::to_write(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => {
                attach(&access, &id, &upload)?;
                Ok(Reply::see(&format!("/cards/{}?saved=1", encode(&id))))
            }
        })
        .await
}

fn attach(access: &CardAccess<'_>, id: &str, upload: &Upload) -> Result<()> {
    let mut images = access.get(id).map_err(missing)?.images.unwrap_or_default();
    let files = upload.files.iter().filter(|file| !file.bytes.is_empty());
    let before = images.len();
    for file in files {
        let kind = kind_of(&file.bytes).ok_or_else(|| {
            Error::invalid_params(format!(
                "`{}` is not a PNG, JPEG, GIF or WebP picture; choose another file",
                file.name.chars().take(100).collect::<String>()
            ))
        })?;
        images.push(Image::data_url(kind, &file.bytes));
    }
    if images.len() == before {
        return Err(Error::invalid_params("no picture was chosen; choose a file first"));
    }
    let images = Some(Some(images));
    access.update(id, CardChange { images, ..CardChange::default() }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_decide_what_a_picture_is() {
        assert_eq!(kind_of(b"\x89PNG\r\n\x1a\n"), Some("image/png"));
        assert_eq!(kind_of(b"<svg onload=alert(1)>"), None);
        let lie = Image { mime: "text/html".into(), bytes: b"<script>".to_vec() };
        let headers = answer(lie).headers().clone();
        assert_eq!(headers[header::CONTENT_TYPE], "application/octet-stream");
        assert_eq!(headers[header::CONTENT_DISPOSITION], "attachment");
    }
}
