//! Plots as SVG, made here: presentation attributes only, because the policy of the pages allows no
//! styles in them. Each has the same numbers as a table.

use std::fmt::Write;

/// The most characters of a name beside a plot.
const MAX_NAME: usize = 24;

/// One line per name over equal stretches of time.
#[derive(Debug, Clone)]
pub struct Lines {
    /// What is plotted.
    pub title: String,
    /// The first day of each stretch.
    pub days: Vec<String>,
    /// The lines.
    pub rows: Vec<(String, Vec<u64>)>,
}

/// One pair of bars per name: this period, and the one before.
#[derive(Debug, Clone)]
pub struct Bars {
    /// What is plotted.
    pub title: String,
    /// The pairs.
    pub rows: Vec<BarRow>,
}

/// A pair of bars.
#[derive(Debug, Clone)]
pub struct BarRow {
    /// What is counted.
    pub name: String,
    /// In the period.
    pub now: u64,
    /// In the period before.
    pub before: u64,
    /// `up`, `down`, `stable` or `new`.
    pub trend: &'static str,
    /// Where its items are listed.
    pub href: String,
}

/// The plot in its own units: pixels at full width.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 36.0;
const RIGHT: f64 = 190.0;
/// The sample of a line before its name.
const SAMPLE: f64 = 24.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 26.0;

/// How each line is drawn, so that colour is not all that tells them apart.
const DASHES: [&str; 6] = [
    "",
    r#" stroke-dasharray="8 4""#,
    r#" stroke-dasharray="2 4""#,
    r#" stroke-dasharray="12 4 2 4""#,
    r#" stroke-dasharray="5 9""#,
    r#" stroke-dasharray="1 6""#,
];

impl Lines {
    /// A plot of these lines; `None` when there is nothing to see.
    pub fn new(title: &str, days: Vec<String>, rows: Vec<(String, Vec<u64>)>) -> Option<Self> {
        let rows: Vec<_> =
            rows.into_iter().filter(|(_, counts)| counts.iter().any(|n| *n > 0)).collect();
        (!rows.is_empty() && days.len() > 1).then(|| Self { title: title.to_owned(), days, rows })
    }

    /// The plot.
    pub fn svg(&self) -> String {
        let most = self.rows.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or(1);
        let top = round_up(most.max(1));
        let last = self.days.len() - 1;
        let x = |n: usize| LEFT + (WIDTH - LEFT - RIGHT) * n as f64 / last as f64;
        let y = |n: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * n / top as f64;
        let mut svg = head(&self.title, &self.description(), WIDTH, HEIGHT);
        for tick in ticks(top) {
            let at = y(tick as f64);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{LEFT}" y1="{at:.1}" x2="{:.1}" y2="{at:.1}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{tick}</text>"#,
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0
            );
        }
        for (n, anchor) in [(0, "start"), (last / 2, "middle"), (last, "end")] {
            let _ = write!(
                svg,
                r#"<text class="tick" x="{:.1}" y="{:.1}" text-anchor="{anchor}">{}</text>"#,
                x(n),
                HEIGHT - 8.0,
                escape(&self.days[n])
            );
        }
        let ends: Vec<f64> = self
            .rows
            .iter()
            .map(|(_, counts)| y(counts.last().copied().unwrap_or_default() as f64) + 4.0)
            .collect();
        for ((n, (name, counts)), label) in self.rows.iter().enumerate().zip(spread(&ends)) {
            let points: Vec<String> = counts
                .iter()
                .enumerate()
                .map(|(n, count)| format!("{:.1},{:.1}", x(n), y(*count as f64)))
                .collect();
            let end = counts.last().copied().unwrap_or_default() as f64;
            // Lines that lie upon each other show through each other's gaps.
            let dashes = DASHES[n % DASHES.len()];
            let _ = write!(
                svg,
                r#"<g class="series s{n}"><polyline points="{}" fill="none"{dashes}/><circle cx="{:.1}" cy="{:.1}" r="3"/><line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"{dashes}/><text x="{:.1}" y="{label:.1}">{}</text></g>"#,
                points.join(" "),
                x(last),
                y(end),
                WIDTH - RIGHT + 8.0,
                label - 4.0,
                WIDTH - RIGHT + 8.0 + SAMPLE,
                label - 4.0,
                WIDTH - RIGHT + 14.0 + SAMPLE,
                escape(&shortened(name))
            );
        }
        svg + "</svg>"
    }

    fn description(&self) -> String {
        let values: Vec<String> = self
            .rows
            .iter()
            .map(|(name, counts)| {
                let end = counts.last().copied().unwrap_or_default();
                format!("{} {end}", shortened(name))
            })
            .collect();
        format!("In the last stretch: {}. The table below has all numbers.", values.join(", "))
    }
}

/// The height of one pair of bars.
const ROW: f64 = 34.0;
const NAMES: f64 = 190.0;
const NUMBERS: f64 = 110.0;

impl Bars {
    /// A plot of these pairs; `None` when there are none.
    pub fn new(title: &str, rows: Vec<(String, u64, u64, &'static str, String)>) -> Option<Self> {
        let rows: Vec<BarRow> = rows
            .into_iter()
            .map(|(name, now, before, trend, href)| BarRow { name, now, before, trend, href })
            .collect();
        (!rows.is_empty()).then(|| Self { title: title.to_owned(), rows })
    }

    /// The plot.
    pub fn svg(&self) -> String {
        let most = self.rows.iter().map(|row| row.now.max(row.before)).max().unwrap_or(1).max(1);
        let length = |n: u64| (WIDTH - NAMES - NUMBERS) * n as f64 / most as f64;
        let values: Vec<String> = self
            .rows
            .iter()
            .map(|row| format!("{} {} ({} before)", shortened(&row.name), row.now, row.before))
            .collect();
        let height = ROW * self.rows.len() as f64 + 4.0;
        let mut svg = head(&self.title, &format!("{}.", values.join(", ")), WIDTH, height);
        for (n, row) in self.rows.iter().enumerate() {
            let y = ROW * n as f64 + 4.0;
            let sign = match row.trend {
                "up" => "▲ ",
                "down" => "▼ ",
                "new" => "● ",
                _ => "",
            };
            let _ = write!(
                svg,
                r#"<g class="pair {}"><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text><rect class="now" x="{NAMES}" y="{y:.1}" width="{:.1}" height="14" rx="2"/><rect class="before" x="{NAMES}" y="{:.1}" width="{:.1}" height="7" rx="2"/><text class="trend" x="{:.1}" y="{:.1}">{sign}{} / {}</text></g>"#,
                row.trend,
                NAMES - 8.0,
                y + 14.0,
                escape(&shortened(&row.name)),
                length(row.now),
                y + 16.0,
                length(row.before),
                NAMES + length(row.now.max(row.before)) + 8.0,
                y + 13.0,
                row.now,
                row.before
            );
        }
        svg + "</svg>"
    }
}

fn head(title: &str, description: &str, width: f64, height: f64) -> String {
    format!(
        r#"<svg class="plot" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg"><title>{}. {}</title>"#,
        escape(title),
        escape(description)
    )
}

/// A round number at or above a count: 1, 2, 5, 10, 20, 50…
fn round_up(count: u64) -> u64 {
    let mut step = 1;
    loop {
        for factor in [1, 2, 5] {
            if step * factor >= count {
                return step * factor;
            }
        }
        step *= 10;
    }
}

/// The numbers beside the axis.
fn ticks(top: u64) -> Vec<u64> {
    match top {
        1 => vec![0, 1],
        top => vec![0, top / 2, top],
    }
}

/// Moves labels apart that would lie on each other, as little as that takes.
fn spread(wanted: &[f64]) -> Vec<f64> {
    const GAP: f64 = 15.0;
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut floor = f64::MIN;
    for n in &order {
        places[*n] = places[*n].max(floor);
        floor = places[*n] + GAP;
    }
    // What was pushed out below goes up again.
    let mut ceiling = HEIGHT - 2.0;
    for n in order.iter().rev() {
        places[*n] = places[*n].min(ceiling);
        ceiling = places[*n] - GAP;
    }
    places
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        None => name.to_owned(),
        Some((at, _)) => format!("{}…", name[..at].trim_end()),
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rows: &[(&str, &[u64])]) -> Option<Lines> {
        let days = ["2026-01-01", "2026-01-08", "2026-01-15"].map(str::to_owned).to_vec();
        let rows = rows.iter().map(|(name, counts)| ((*name).to_owned(), counts.to_vec()));
        Lines::new("Topics", days, rows.collect())
    }

    #[test]
    fn a_plot_has_a_title_a_line_for_each_name_and_no_style() {
        let svg = lines(&[("сад", &[1, 2, 3]), ("<b>\"庭\"", &[0, 0, 7])]).unwrap().svg();
        assert!(svg.contains("role=\"img\"") && svg.contains("<title>Topics. "), "{svg}");
        assert_eq!(svg.matches("<polyline").count(), 2);
        // The second line and its sample have gaps, in which the first shows.
        assert_eq!(svg.matches("stroke-dasharray=\"8 4\"").count(), 2, "{svg}");
        assert!(svg.contains("&lt;b&gt;&quot;庭&quot;") && !svg.contains("<b>"), "{svg}");
        assert!(!svg.contains("style") && !svg.contains("NaN"), "{svg}");
        // The highest value is below a round one: 7 of 10.
        assert!(svg.contains(">10</text>"), "{svg}");
    }

    #[test]
    fn nothing_to_see_is_no_plot() {
        assert!(lines(&[("a", &[0, 0, 0])]).is_none());
        assert!(lines(&[]).is_none());
        assert!(Bars::new("x", Vec::new()).is_none());
        assert!(Lines::new("x", vec!["d".into()], vec![("a".into(), vec![1])]).is_none());
    }

    #[test]
    fn bars_compare_two_periods() {
        let rows = vec![
            ("rust".to_owned(), 8, 2, "up", "/b?q=rust".to_owned()),
            ("go".to_owned(), 0, 0, "stable", String::new()),
        ];
        let svg = Bars::new("Topics", rows).unwrap().svg();
        assert!(svg.contains("▲ 8 / 2") && svg.contains("rust 8 (2 before)"), "{svg}");
        assert!(svg.contains("width=\"420.0\"") && svg.contains("width=\"105.0\""), "{svg}");
        let zero = Bars::new("x", vec![("a".into(), 0, 0, "stable", String::new())]).unwrap();
        assert!(!zero.svg().contains("NaN"));
    }

    #[test]
    fn labels_do_not_lie_on_each_other() {
        let places = spread(&[100.0, 101.0, 99.0, 236.0, 237.0]);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 14.9), "{places:?}");
        assert!(sorted.last().unwrap() <= &HEIGHT);
        assert_eq!((round_up(1), round_up(7), round_up(201)), (1, 10, 500));
    }
}
