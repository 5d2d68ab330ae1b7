//! Images as Memento keeps them: base64 text, with or without `data:image/png;base64,` before it.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::super::{Error, Result};

/// The largest image, decoded, in bytes.
pub const MAX_IMAGE_BYTES: usize = 5 << 20;
/// The most images a card may have.
pub const MAX_IMAGES: usize = 20;

/// Padding is often lost on the way; the bytes are the same.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An image taken out of its base64 text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// `image/png`, for example.
    pub mime: String,
    /// The decoded image.
    pub bytes: Vec<u8>,
}

impl Image {
    /// Reads base64 or a data URL; `None` when it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (declared, data) = split(text);
        let bytes = BASE64.decode(data.trim()).ok().filter(|bytes| !bytes.is_empty())?;
        let mime = declared.map(str::to_owned).unwrap_or_else(|| sniff(&bytes).to_owned());
        Some(Self { mime, bytes })
    }

    /// The data URL that Memento's web app shows.
    pub fn data_url(mime: &str, bytes: &[u8]) -> String {
        format!("{}{}", Self::prefix(mime), BASE64.encode(bytes))
    }

    /// Encodes without a data URL's prefix.
    pub fn base64(bytes: &[u8]) -> String {
        BASE64.encode(bytes)
    }

    /// What stands before the base64 text of a data URL.
    pub fn prefix(mime: &str) -> String {
        format!("data:{mime};base64,")
    }

    /// The ending of a file that holds it.
    pub fn extension(&self) -> &'static str {
        match self.mime.as_str() {
            "image/png" => "png",
            "image/jpeg" | "image/jpg" => "jpg",
            "image/gif" => "gif",
            "image/webp" => "webp",
            "image/svg+xml" => "svg",
            _ => "bin",
        }
    }
}

/// The MIME type that a data URL declares, and its base64 text.
fn split(text: &str) -> (Option<&str>, &str) {
    let parsed = text.strip_prefix("data:").and_then(|rest| {
        let (mime, data) = rest.split_once(";base64,")?;
        Some((mime.split(';').next().filter(|mime| !mime.is_empty()), data))
    });
    parsed.unwrap_or((None, text))
}

fn sniff(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => "application/octet-stream",
    }
}

/// Refuses images that are too many, too large or not base64, naming the one at fault. A link to a
/// stored image passes: whoever resolves it knows whether it leads anywhere.
pub fn check_images_or_links(images: &[String]) -> Result<()> {
    check(images, |text| super::parse_image_link(text).is_some())
}

/// The same where links mean nothing: a new card has no stored image.
pub fn check_images(images: &[String]) -> Result<()> {
    check(images, |_| false)
}

fn check(images: &[String], passes: impl Fn(&str) -> bool) -> Result<()> {
    if images.len() > MAX_IMAGES {
        return Err(Error::invalid_params(format!(
            "images has {} entries; a card holds at most {MAX_IMAGES}",
            images.len()
        )));
    }
    for (n, text) in images.iter().enumerate().filter(|(_, text)| !passes(text)) {
        // Refused by its length before it is decoded.
        let size = split(text).1.len() / 4 * 3;
        if size > MAX_IMAGE_BYTES + 2 {
            return Err(Error::invalid_params(format!(
                "images[{n}] is about {size} bytes; the limit is {MAX_IMAGE_BYTES}: send a smaller one"
            )));
        }
        let Some(image) = Image::parse(text) else {
            return Err(Error::invalid_params(format!(
                "images[{n}] is not base64; send base64 text or a `data:image/png;base64,` URL"
            )));
        };
        if image.bytes.len() > MAX_IMAGE_BYTES {
            return Err(Error::invalid_params(format!(
                "images[{n}] is {} bytes; the limit is {MAX_IMAGE_BYTES}: send a smaller one",
                image.bytes.len()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_and_data_urls_are_images_and_nothing_else_is() {
        let png = Image::parse("iVBORw0KGgo=").unwrap();
        assert_eq!((png.mime.as_str(), png.bytes.len()), ("image/png", 8));
        assert_eq!(Image::parse("iVBORw0KGgo").unwrap(), png, "padding may be missing");
        assert_eq!(Image::parse(&Image::data_url("image/png", &png.bytes)).unwrap(), png);
        assert_eq!(Image::parse("data:image/webp;base64,aGk=").unwrap().mime, "image/webp");
        for bad in
            ["", "not base64!", "https://example.org/a.png", "data:image/png;base64,", "фото"]
        {
            assert!(check_images(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_image_over_the_limit_is_refused_and_one_at_it_is_not() {
        assert!(check_images(&[Image::base64(&vec![7; MAX_IMAGE_BYTES])]).is_ok());
        for over in [1, 2, 3, 4, 1000] {
            assert!(check_images(&[Image::base64(&vec![7; MAX_IMAGE_BYTES + over])]).is_err());
        }
        assert!(check_images(&vec!["aGk=".to_owned(); MAX_IMAGES + 1]).is_err());
    }
}
