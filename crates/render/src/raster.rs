//! Pictures as PNG: what plotters draws, in pixels.
//!
//! A unit of the drawing is two pixels, as on screens with twice the usual density. Texts are in one font of fixed width,
//! in which a character is as wide as plotters assumes; it has ASCII and Latin-1.

use flate2::{Compression, Crc, write::ZlibEncoder};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, rasterizer,
};
use std::convert::Infallible;
use std::io::{self, Write as _};

/// Pixels of a unit of the drawing.
const SCALE: u32 = 2;
/// Pixels per metre: 72 units per inch.
const DENSITY: u32 = SCALE * 2835;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

/// The pixels, from the upper left corner.
#[derive(Debug)]
struct Pixels {
    size: (u32, u32),
    rgb: Vec<[u8; 3]>,
}

impl DrawingBackend for Pixels {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Drawn {
        let (width, height) = self.size;
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return Ok(()) };
        if x < width && y < height {
            let pixel = &mut self.rgb[(y * width + x) as usize];
            let (r, g, b) = colour.rgb;
            for (old, new) in pixel.iter_mut().zip([r, g, b]) {
                *old = (f64::from(*old) + (f64::from(new) - f64::from(*old)) * colour.alpha).round() as u8;
            }
        }
        Ok(())
    }
}

/// A style of the drawing in pixels.
struct Scaled(BackendColor, u32);

impl BackendStyle for Scaled {
    fn color(&self) -> BackendColor {
        self.0
    }

    fn stroke_width(&self) -> u32 {
        self.1
    }
}

fn scaled(style: &impl BackendStyle) -> Scaled {
    Scaled(style.color(), style.stroke_width() * SCALE)
}

/// The upper left pixel of a unit.
fn pixel((x, y): BackendCoord) -> BackendCoord {
    (x * SCALE as i32, y * SCALE as i32)
}

/// A drawing area in units.
#[derive(Debug)]
pub(crate) struct Canvas<'a>(&'a mut Picture);

/// A picture of pixels.
#[derive(Debug)]
pub(crate) struct Picture(Pixels);

impl Picture {
    /// A white picture of this size in units.
    pub(crate) fn new((width, height): (u32, u32)) -> Self {
        let size = (width * SCALE, height * SCALE);
        Self(Pixels { size, rgb: vec![[255; 3]; (size.0 * size.1) as usize] })
    }

    /// The canvas on which the picture is drawn.
    pub(crate) fn canvas(&mut self) -> Canvas<'_> {
        Canvas(self)
    }

    /// Fills a rectangle; first and last column, first and last row.
    fn fill(&mut self, (left, right): (i32, i32), (top, bottom): (i32, i32), colour: BackendColor) -> Drawn {
        let (width, height) = self.0.size;
        let inside = |first: i32, last: i32, size: u32| first.max(0)..last.saturating_add(1).min(size as i32);
        for y in inside(top, bottom, height) {
            inside(left, right, width).try_for_each(|x| self.0.draw_pixel((x, y), colour))?;
        }
        Ok(())
    }

    /// The picture as a file.
    pub(crate) fn png(&self) -> io::Result<Vec<u8>> {
        let Pixels { size: (width, height), rgb } = &self.0;
        let mut lines = ZlibEncoder::new(Vec::new(), Compression::best());
        let mut above = vec![0; *width as usize * 3];
        for row in rgb.chunks_exact(*width as usize) {
            // Each byte less the one above it: most are 0.
            let bytes: Vec<u8> = row.iter().flatten().copied().collect();
            lines.write_all(&[2])?;
            lines.write_all(&bytes.iter().zip(&above).map(|(new, old)| new.wrapping_sub(*old)).collect::<Vec<u8>>())?;
            above = bytes;
        }
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        // 8 bits of red, green and blue; no interlacing.
        let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
        let density = [&DENSITY.to_be_bytes()[..], &DENSITY.to_be_bytes(), &[1]].concat();
        for (name, content) in [(b"IHDR", head), (b"pHYs", density), (b"IDAT", lines.finish()?), (b"IEND", Vec::new())]
        {
            let mut check = Crc::new();
            check.update(name);
            check.update(&content);
            file.extend((content.len() as u32).to_be_bytes());
            file.extend(name);
            file.extend(&content);
            file.extend(check.sum().to_be_bytes());
        }
        Ok(file)
    }
}

/// The font of a size in units.
fn height(size: f64) -> RasterHeight {
    if size > 14.0 { RasterHeight::Size32 } else { RasterHeight::Size24 }
}

/// The characters of a text. The font has no ellipsis, and a sign for what else it lacks.
fn characters(text: &str, height: RasterHeight) -> impl Iterator<Item = RasterizedChar> {
    let text = text.replace('…', "..");
    let of = move |c| {
        get_raster(c, FontWeight::Regular, height).or_else(|| get_raster('\u{fffd}', FontWeight::Regular, height))
    };
    text.chars().filter_map(of).collect::<Vec<_>>().into_iter()
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let (width, height) = self.0.0.size;
        (width / SCALE, height / SCALE)
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Drawn {
        self.draw_rect(point, point, &colour, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        let (from, to) = (pixel(from), pixel(to));
        if from.0 != to.0 && from.1 != to.1 {
            return rasterizer::draw_line(&mut self.0.0, from, to, &scaled(style));
        }
        let (wide, last) = ((style.stroke_width() * SCALE) as i32, SCALE as i32 - 1);
        let before = (wide - 1) / 2;
        let across = |at: i32| (at - before, at - before + wide - 1);
        let along = |one: i32, other: i32| (one.min(other), one.max(other) + last);
        let (x, y) =
            if from.1 == to.1 { (along(from.0, to.0), across(from.1)) } else { (across(from.0), along(from.1, to.1)) };
        self.0.fill(x, y, style.color())
    }

    fn draw_rect<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S, fill: bool) -> Drawn {
        if fill {
            let (one, other, last) = (pixel(from), pixel(to), SCALE as i32 - 1);
            let span = |one: i32, other: i32| (one.min(other), one.max(other) + last);
            return self.0.fill(span(one.0, other.0), span(one.1, other.1), style.color());
        }
        let corners = [from, (to.0, from.1), to, (from.0, to.1), from];
        corners.windows(2).try_for_each(|ends| self.draw_line(ends[0], ends[1], style))
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, corners: I, style: &S) -> Drawn {
        let corners: Vec<BackendCoord> = corners.into_iter().map(pixel).collect();
        rasterizer::fill_polygon(&mut self.0.0, &corners, &scaled(style))
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, at: BackendCoord) -> Drawn {
        let height = height(style.size());
        let (advance, high) = (get_raster_width(FontWeight::Regular, height) as i32, height.val() as i32);
        let wide = advance * characters(text, height).count() as i32;
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -wide / 2,
            HPos::Right => -wide,
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -high / 2,
            VPos::Bottom => -high,
        };
        let ((x, y), colour, turn) = (pixel(at), style.color(), style.transform());
        for (place, character) in (0..).zip(characters(text, height)) {
            for (row, pixels) in (0..).zip(character.rows()) {
                for (column, &intensity) in (0..).zip(pixels).filter(|(_, intensity)| **intensity > 0) {
                    let (dx, dy) = turn.transform(left + place * advance + column, top + row);
                    let alpha = colour.alpha * f64::from(intensity) / 255.0;
                    self.0.0.draw_pixel((x + dx, y + dy), BackendColor { alpha, ..colour })?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use plotters::prelude::*;
    use std::io::Read as _;

    /// The size and the pixels of a file, read as PNG's specification has it.
    fn read(file: &[u8]) -> ((u32, u32), Vec<[u8; 3]>) {
        let (mut rest, mut parts) = (&file[8..], Vec::new());
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        while let Some((length, all)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            let mut check = Crc::new();
            check.update(&all[..length + 4]);
            assert_eq!(all[length + 4..length + 8], check.sum().to_be_bytes());
            parts.push((&all[..4], &all[4..length + 4]));
            rest = &all[length + 8..];
        }
        let names: Vec<&[u8]> = parts.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [&b"IHDR"[..], b"pHYs", b"IDAT", b"IEND"]);
        let number = |at: usize| u32::from_be_bytes(parts[0].1[at..at + 4].try_into().unwrap());
        let (width, height) = (number(0) as usize, number(4) as usize);
        let mut lines = Vec::new();
        ZlibDecoder::new(parts[2].1).read_to_end(&mut lines).unwrap();
        assert_eq!(lines.len(), (width * 3 + 1) * height);
        let (mut above, mut pixels) = (vec![0_u8; width * 3], Vec::new());
        for line in lines.chunks(width * 3 + 1) {
            assert_eq!(line[0], 2);
            above.iter_mut().zip(&line[1..]).for_each(|(old, less)| *old = old.wrapping_add(*less));
            pixels.extend(above.chunks(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]));
        }
        ((width as u32, height as u32), pixels)
    }

    #[test]
    fn a_file_has_the_drawing_at_twice_its_size() {
        let mut picture = Picture::new((40, 30));
        {
            let area = picture.canvas().into_drawing_area();
            area.draw(&Rectangle::new([(10, 5), (19, 14)], RED.filled())).unwrap();
            area.draw(&PathElement::new([(0, 20), (39, 20)], ShapeStyle::from(BLACK).stroke_width(1))).unwrap();
            area.draw(&Rectangle::new([(0, 25), (39, 29)], BLACK.mix(0.5).filled())).unwrap();
        }
        let (size, pixels) = read(&picture.png().unwrap());
        assert_eq!(size, (80, 60));
        let count = |rgb: [u8; 3]| pixels.iter().filter(|pixel| **pixel == rgb).count();
        assert_eq!(count([255, 0, 0]), 20 * 20);
        assert_eq!(count([128; 3]), 80 * 10);
        assert_eq!(count([0; 3]), 80 * 2);
    }

    #[test]
    fn texts_are_placed_by_their_anchors_and_turned() {
        let ink = |text: &str, style: &TextStyle<'_>| {
            let mut picture = Picture::new((100, 100));
            picture.canvas().into_drawing_area().draw_text(text, style, (50, 50)).unwrap();
            let ((width, _), pixels) = read(&picture.png().unwrap());
            let places = pixels.iter().zip(0_u32..).filter(|(rgb, _)| rgb[0] < 128);
            places.map(|(_, at)| (at % width, at / width)).collect::<Vec<_>>()
        };
        use plotters::style::text_anchor::{HPos, Pos, VPos};
        let style = ("sans-serif", 12).into_font().color(&BLACK);
        let right = ink("lud", &style);
        assert!(!right.is_empty() && right.iter().all(|&(x, y)| (100..133).contains(&x) && (100..124).contains(&y)));
        let left = ink("lud", &style.pos(Pos::new(HPos::Right, VPos::Bottom)));
        assert!(left.len() == right.len() && left.iter().all(|&(x, y)| x < 100 && y < 100));
        let turned = ("sans-serif", 12).into_font().transform(FontTransform::Rotate270).color(&BLACK);
        let up = ink("lud", &turned.pos(Pos::new(HPos::Left, VPos::Top)));
        assert!(up.len() == right.len() && up.iter().all(|&(_, y)| y <= 100));
        // Characters that the font lacks have a sign; none is left out.
        assert!(!ink("\u{4e00}", &style).is_empty() && !ink("…é", &style).is_empty());
        assert_eq!(ink("", &style).len(), 0);
    }
}
