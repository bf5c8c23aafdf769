//! Stacked bars: SVG whose lengths are percentages, so that text keeps its size at any width.

use super::html::{details, escaped};
use std::borrow::Cow;
use std::fmt::Write as _;

/// A piece of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece<'a> {
    /// Name in the legend.
    pub name: Cow<'a, str>,
    /// Colour as `#rrggbb`.
    pub colour: Cow<'a, str>,
    /// Share of the bar, 0 to 1.
    pub share: f64,
    /// Amount with its unit, as the tooltip shows it after the share.
    pub amount: String,
}

/// A bar with its name before it and a figure after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar<'a> {
    /// Name before it.
    pub label: String,
    /// Figure after it; may be empty.
    pub figure: String,
    /// Length, 0 to 1 of the place there is.
    pub length: f64,
    /// From the left.
    pub pieces: Vec<Piece<'a>>,
}

/// Pixels of the narrowest bar for which texts within it are chosen, on a page that is wide (class `roomy`) and on a
/// narrow one (`tight`); the style sheet has the limit between them.
const NARROWEST: [f64; 2] = [420.0, 200.0];
/// Pixels of a character.
const CHARACTER: f64 = 7.0;
/// Height of a bar in pixels.
const HEIGHT: u32 = 26;

/// Contrast of white and of dark text on `colour`, as WCAG 2 defines it: 1 to 21.
fn contrasts(colour: &str) -> [f64; 2] {
    // Luminance of the dark text, `svg .dark` of the style sheet; white has 1.
    const DARK: f64 = 0.009;
    let byte = |at: usize| colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    let linear = |at: usize| match f64::from(byte(at)) / 255.0 {
        c if c <= 0.04 => c / 12.92,
        c => ((c + 0.055) / 1.055).powf(2.4),
    };
    let luminance = 0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5);
    [(1.0 + 0.05) / (luminance + 0.05), (luminance + 0.05) / (DARK + 0.05)]
}

/// Whether dark text on `colour` has more contrast than white text.
fn is_light(colour: &str) -> bool {
    let [white, dark] = contrasts(colour);
    dark > white
}

/// Label of a piece of this many pixels: name and share, only the share, or nothing.
fn inscription(piece: &Piece<'_>, pixels: f64) -> Option<String> {
    let share = format!("{:.1} %", piece.share * 100.0);
    let both = format!("{} {share}", piece.name);
    let fits = |text: &String| (text.chars().count() as f64 + 1.5) * CHARACTER <= pixels;
    [both, share].into_iter().find(fits)
}

/// Labels of a piece of this width, each with its class; one if it is the same on every page.
fn inscriptions(piece: &Piece<'_>, width: f64) -> impl Iterator<Item = (&'static str, String)> {
    let [roomy, tight] = NARROWEST.map(|pixels| inscription(piece, width * pixels));
    let both = if roomy == tight { [("", roomy), ("", None)] } else { [(" roomy", roomy), (" tight", tight)] };
    both.into_iter().filter_map(|(class, text)| Some((class, text?)))
}

/// Bars under each other, and the legend of their pieces.
pub fn render(bars: &[Bar<'_>]) -> String {
    legend(bars) + &plain(bars)
}

/// Bars in groups under headings, and one legend of all pieces. Without `open`, each group is folded under its heading.
pub fn groups(groups: &[(String, Vec<Bar<'_>>)], open: bool) -> String {
    let all: Vec<Bar<'_>> = groups.iter().flat_map(|(_, bars)| bars.iter().cloned()).collect();
    let group = |(heading, bars): &(String, Vec<Bar<'_>>)| {
        if open { format!("<h3>{}</h3>\n{}", escaped(heading), plain(bars)) } else { details(heading, &plain(bars)) }
    };
    legend(&all) + &groups.iter().map(group).collect::<String>()
}

/// Bars without a legend.
fn plain(bars: &[Bar<'_>]) -> String {
    let mut out = String::from("<div class=\"bars\">\n");
    for bar in bars {
        let label = escaped(&bar.label);
        let _ = write!(out, "<div class=\"bar\"><div class=\"label\" title=\"{label}\">{label}</div>");
        out += &drawing(bar, HEIGHT);
        let _ = writeln!(out, "<div class=\"figure\">{}</div></div>", escaped(&bar.figure));
    }
    out.push_str("</div>\n");
    out
}

/// A bar by itself, `height` pixels high; bars of less than the usual height have no text.
pub fn drawing(bar: &Bar<'_>, height: u32) -> String {
    let label = escaped(&bar.label);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"{height}\">"
    );
    let mut at = 0.0;
    for piece in &bar.pieces {
        let width = piece.share * bar.length;
        if width <= 0.0 {
            continue;
        }
        let name = escaped(&piece.name);
        let amount = if piece.amount.is_empty() { String::new() } else { format!(", {}", escaped(&piece.amount)) };
        let _ = write!(
            out,
            "<g class=\"mark\"><rect x=\"{:.3}%\" width=\"{:.3}%\" height=\"{height}\" fill=\"{}\"/><title>{name}: {:.2} %{amount}</title>",
            at * 100.0,
            width * 100.0,
            escaped(&piece.colour),
            piece.share * 100.0,
        );
        for (class, text) in inscriptions(piece, width).filter(|_| height >= HEIGHT) {
            let ink = if is_light(&piece.colour) { "dark" } else { "light" };
            let (middle, text) = ((at + width / 2.0) * 100.0, escaped(&text));
            let _ = write!(out, "<text x=\"{middle:.3}%\" y=\"17\" class=\"on {ink}{class}\">{text}</text>");
        }
        out.push_str("</g>");
        at += width;
    }
    out + "</svg>"
}

/// Colours and names of all pieces, in the order in which they first occur.
pub fn legend(bars: &[Bar<'_>]) -> String {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for piece in bars.iter().flat_map(|bar| &bar.pieces).filter(|piece| piece.share > 0.0) {
        if !seen.iter().any(|(name, _)| *name == piece.name) {
            seen.push((&piece.name, &piece.colour));
        }
    }
    keys(seen)
}

/// A legend.
pub fn keys<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let key = |(name, colour): (&str, &str)| {
        format!(
            "<span class=\"key\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"11\" height=\"11\" aria-hidden=\"true\"><rect width=\"11\" height=\"11\" rx=\"2\" fill=\"{}\"/></svg> {}</span>\n",
            escaped(colour),
            escaped(name)
        )
    };
    format!("<div class=\"legend\">\n{}</div>\n", names.into_iter().map(key).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_shows_what_fits() {
        let piece = |share| Piece { name: "raw memory".into(), colour: "#ffffff".into(), share, amount: String::new() };
        let of = |share, width| inscriptions(&piece(share), width).collect::<Vec<_>>();
        assert_eq!(of(1.0, 1.0), [("", "raw memory 100.0 %".to_owned())]);
        assert_eq!(of(0.5, 0.5), [(" roomy", "raw memory 50.0 %".to_owned()), (" tight", "50.0 %".to_owned())]);
        assert_eq!(of(0.15, 0.15), [(" roomy", "15.0 %".to_owned())]);
        assert!(of(0.05, 0.05).is_empty() && of(0.5, 0.05).is_empty(), "a short bar");
        assert!(is_light("#ffffff") && !is_light("#203040"));
    }

    /// WCAG 2.1's least contrast of text, of labels on the colours of bars of energy and of stall reasons.
    #[test]
    fn labels_have_enough_contrast() {
        let energy = crate::power::groups().map(|(name, colour, _)| (name, colour));
        let reasons = crate::page::stalls::colours().map(|(name, colour)| (name, colour.to_owned()));
        for (name, colour) in energy.chain(reasons) {
            let [white, dark] = contrasts(&colour);
            assert!(white.max(dark) >= 4.5, "{name}: {colour}, {white:.2} in white, {dark:.2} in dark");
        }
    }
}
