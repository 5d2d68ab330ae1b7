//! Formulas as MathML, on pages for people. The MathML goes into HTML that is sanitised already, so it
//! is checked by itself: only the elements and attributes below, each closed by its own end tag.

use std::panic::catch_unwind;

use pulldown_latex::{
    Event, Parser, RenderConfig, Storage, config::DisplayMode, mathml::push_mathml,
};

use super::escape;

/// The longest formula that is rendered, in bytes.
const MAX_BYTES: usize = 4_096;
/// The deepest nesting of braces and environments that is rendered.
const MAX_DEPTH: usize = 40;
/// Commands that define others. A few of them can expand to gigabytes.
const DEFINING: [&str; 9] = [
    "def",
    "edef",
    "gdef",
    "xdef",
    "let",
    "futurelet",
    "newcommand",
    "renewcommand",
    "providecommand",
];

const ELEMENTS: [&str; 26] = [
    "math",
    "mfrac",
    "mi",
    "mmultiscripts",
    "mn",
    "mo",
    "mover",
    "mpadded",
    "mphantom",
    "mprescripts",
    "mroot",
    "mrow",
    "ms",
    "mspace",
    "msqrt",
    "mstyle",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
    "none",
];
const ATTRIBUTES: [&str; 16] = [
    "class",
    "columnspan",
    "depth",
    "display",
    "displaystyle",
    "height",
    "largeop",
    "linethickness",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "scriptlevel",
    "stretchy",
    "symmetric",
    "width",
];

const OPEN: &str = "<span class=\"math math-";

/// Puts MathML in the place of each formula of a sanitised text, as far as the result stays within
/// `limit` bytes. A formula that cannot be rendered keeps its source.
pub(super) fn with_formulas(html: String, limit: usize) -> String {
    if !html.contains(OPEN) {
        return html;
    }
    let mut out = String::with_capacity(html.len() * 2);
    let mut rest = html.as_str();
    while let Some(at) = rest.find(OPEN) {
        out += &rest[..at];
        rest = &rest[at..];
        let Some(formula) = Formula::at(rest) else {
            out += OPEN;
            rest = &rest[OPEN.len()..];
            continue;
        };
        let fits = |mathml: &String| out.len() + mathml.len() + rest.len() <= limit;
        match formula.rendered().filter(fits) {
            Some(mathml) => out += &mathml,
            None => out += &formula.source(),
        }
        rest = &rest[formula.len..];
    }
    out + rest
}

/// A formula in a sanitised text.
struct Formula {
    is_display: bool,
    latex: String,
    /// Bytes that it takes there.
    len: usize,
}

impl Formula {
    /// The formula whose element the text begins with.
    fn at(html: &str) -> Option<Self> {
        let inside = html.strip_prefix(OPEN)?;
        let (is_display, text) = match inside.strip_prefix("display\">") {
            Some(text) => (true, text),
            None => (false, inside.strip_prefix("inline\">")?),
        };
        let text = text.split('<').next()?;
        let start = html.len() - inside.len() + if is_display { 9 } else { 8 };
        let end = start + text.len();
        html[end..].starts_with("</span>").then(|| Self {
            is_display,
            latex: unescape(text),
            len: end + "</span>".len(),
        })
    }

    fn rendered(&self) -> Option<String> {
        let mathml = mathml(&self.latex, self.is_display)?;
        Some(match self.is_display {
            true => format!(
                "<span class=\"math math-display\" role=\"group\" aria-label=\"Formula\" tabindex=\"0\">{mathml}</span>"
            ),
            false => format!("<span class=\"math math-inline\">{mathml}</span>"),
        })
    }

    /// The formula as it was written.
    fn source(&self) -> String {
        let (sign, class) = match self.is_display {
            true => ("$$", "display"),
            false => ("$", "inline"),
        };
        format!("{OPEN}{class}\"><code>{sign}{}{sign}</code></span>", escape(&self.latex))
    }
}

fn unescape(text: &str) -> String {
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    plain.replace("&nbsp;", "\u{a0}").replace("&amp;", "&")
}

/// A formula as MathML; `None` where it is wrong, too long, or defines commands.
fn mathml(latex: &str, is_display: bool) -> Option<String> {
    if latex.len() > MAX_BYTES || depth(latex) > MAX_DEPTH || defines(latex) {
        return None;
    }
    let made = catch_unwind(|| {
        let storage = Storage::new();
        let events = Parser::new(latex, &storage).collect::<Result<Vec<Event<'_>>, _>>().ok()?;
        let config = RenderConfig {
            display_mode: if is_display { DisplayMode::Block } else { DisplayMode::Inline },
            ..RenderConfig::default()
        };
        let mut out = String::new();
        let events = events.into_iter().map(Ok::<_, std::fmt::Error>);
        push_mathml(&mut out, events, config).ok().map(|()| out)
    });
    checked(&made.ok()??)
}

fn depth(latex: &str) -> usize {
    let braces = latex.bytes().fold((0_usize, 0), |(now, most), byte| match byte {
        b'{' => (now + 1, most.max(now + 1)),
        b'}' => (now.saturating_sub(1), most),
        _ => (now, most),
    });
    braces.1 + latex.matches("\\begin").count() + latex.matches("\\left").count()
}

fn defines(latex: &str) -> bool {
    latex.split('\\').skip(1).any(|command| {
        let end = command.bytes().position(|byte| !byte.is_ascii_alphabetic());
        DEFINING.contains(&&command[..end.unwrap_or(command.len())])
    })
}

/// The MathML without styles, which the pages' policy blocks; `None` where it has anything else that
/// is not listed above.
fn checked(mathml: &str) -> Option<String> {
    let mut out = String::with_capacity(mathml.len());
    let mut open: Vec<&str> = Vec::new();
    let mut rest = mathml;
    while let Some(at) = tag_in(rest) {
        let (text, tag) = rest.split_at(at);
        if open.is_empty() && !text.trim().is_empty() {
            return None;
        }
        // The writer escapes `<` and `&` in words, and leaves them as they are alone.
        out += &escape(&unescape(text));
        let (tag, after) = tag[1..].split_once('>')?;
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop()? != name {
                return None;
            }
            out += &format!("</{name}>");
            continue;
        }
        let (tag, is_closed) = match tag.strip_suffix('/') {
            Some(tag) => (tag.trim_end(), true),
            None => (tag, false),
        };
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        // One formula is one `math` element, with everything else in it.
        if !ELEMENTS.contains(&name) || (name == "math") != out.is_empty() {
            return None;
        }
        out += &format!("<{name}{}>", kept(attributes)?);
        match is_closed {
            true => out += &format!("</{name}>"),
            false => open.push(name),
        }
    }
    (open.is_empty() && rest.trim().is_empty() && !out.is_empty()).then_some(out)
}

/// Where the next tag begins: a `<` before a letter or a slash. Any other is a sign of the formula.
fn tag_in(mathml: &str) -> Option<usize> {
    let begins = |at: &usize| {
        let next = mathml.as_bytes().get(at + 1);
        next.is_some_and(|next| next.is_ascii_alphabetic() || *next == b'/')
    };
    mathml.match_indices('<').map(|(at, _)| at).find(begins)
}

fn kept(attributes: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " .-%#:();".contains(c);
    let mut out = String::new();
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        rest = after.trim_start();
        if name == "style" {
            continue;
        }
        if !ATTRIBUTES.contains(&name) || !value.chars().all(plain) {
            return None;
        }
        out += &format!(" {name}=\"{value}\"");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(latex: &str) -> String {
        mathml(latex, false).unwrap_or_else(|| panic!("`{latex}` is not rendered"))
    }

    #[test]
    fn what_people_write_is_rendered() {
        for latex in [
            "x^2 + y_1",
            r"\frac{a}{b} < \sqrt{c} \le d",
            r"\sum_{i=1}^n i = \frac{n(n+1)}{2}",
            r"\int_0^\infty e^{-x}\,dx",
            r"\begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}",
            r"\begin{cases} 0 & x < 0 \\ 1 & x \ge 0 \end{cases}",
            r"\begin{aligned} a &= b \\ &= c \end{aligned}",
            r"\text{если } x > 0",
            r"\mathbb{R} \not\subset \mathcal{L}\left(\tfrac12\right)",
            r"\color{red} x \hat{y} \overline{ab} \vec{v}",
            r"P(\text{猫} \mid \text{画像}) \approx 0.93",
            r"\left\langle x \middle| y \right\rangle",
        ] {
            let out = rendered(latex);
            assert!(out.starts_with("<math") && out.ends_with("</math>"), "{latex}: {out}");
            assert!(!out.contains(" style="), "{latex}: {out}");
        }
        let out = rendered(r"a < b \& c > d \text{<&}");
        assert!(out.contains("<mo>&lt;</mo>") && out.contains("&gt;"), "{out}");
        assert!(out.contains("&amp;") && out.contains("&lt;&amp;"), "{out}");
    }

    #[test]
    fn a_formula_that_cannot_be_rendered_keeps_its_source() {
        let html = |latex: &str| {
            let text =
                format!("<p>a <span class=\"math math-inline\">{}</span> z</p>", escape(latex));
            with_formulas(text, usize::MAX)
        };
        for latex in [
            r"\frac{a}{",
            r"\nosuchcommand x",
            r"\def\a{\b\b}\def\b{x}\a",
            r"\newcommand{\x}{\x\x} \x",
            &"{".repeat(60),
            &"x".repeat(MAX_BYTES + 1),
        ] {
            let out = html(latex);
            assert!(out.contains(&format!("<code>${}$</code>", escape(latex))), "{out}");
            assert!(out.starts_with("<p>a ") && out.ends_with(" z</p>"), "{out}");
        }
        // Beyond the limit of the page the source is left, which is shorter.
        let text = "<span class=\"math math-display\">x^2</span>".repeat(50);
        let out = with_formulas(text.clone(), text.len() * 2);
        assert!(out.contains("<math") && out.contains("$$x^2$$"), "{out}");
    }

    #[test]
    fn only_mathml_comes_out() {
        for latex in [
            r"\text{<img src=x onerror=alert(1)>}",
            r"\text{</math><script>alert(1)</script>}",
            r"\href{javascript:alert(1)}{x}",
            r"\url{javascript:alert(1)}",
            r"\class{top}{x} \style{color:red}{y} \cssId{q}{z}",
            r"\color{red;background:url(//evil)} x",
            r"\htmlClass{a}{b} \includegraphics{x}",
            "\\text{\u{0}\"'`}",
            r"<script>alert(1)</script>",
            r"\unicode{x3c}script",
            "\\rule{1em\" onclick=\"x}{1em}",
            r"\hspace{1em;x:url(a)} \kern1e9em y",
        ] {
            let Some(out) = mathml(latex, true) else { continue };
            for tag in out.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
                let name = tag.trim_start_matches('/').split(' ').next().unwrap();
                assert!(ELEMENTS.contains(&name), "<{tag}> of {latex}");
                for bad in ["on", "href", "src", "style", "id="] {
                    assert!(!tag.contains(&format!(" {bad}")), "<{tag}> of {latex}");
                }
            }
        }
        for bad in [
            "<math><mi>x</mi>",
            "<math></mi></math>",
            "<math><script>x</script></math>",
            "<math><mi onclick=\"x\">x</mi></math>",
            "<math><annotation-xml></annotation-xml></math>",
            "<math></math><math></math>",
            "<math></math>text",
            "text",
            "",
            "<p>x</p>",
        ] {
            assert_eq!(checked(bad), None, "{bad}");
        }
    }
}
