//! Buffers in files: raw bytes, NumPy's `.npy`, and text.

use kit::text::excerpt;
use std::fmt::Write;
use std::path::Path;
use workloads::element::{Number, ScalarType};

/// Elements made or read between two checks for Ctrl-C.
pub const LOOK_EVERY: u64 = 1 << 16;

/// Elements of one type, little-endian.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Data {
    /// Their type; `None` for raw bytes.
    pub ty: Option<ScalarType>,
    pub bytes: Vec<u8>,
}

/// Interprets a file's contents by the extension of its name: `.npy`, `.txt` or `.csv`; anything
/// else is raw. `ty` is the type of text, and what an `.npy` file's type must agree with.
pub fn decode(path: &Path, contents: &[u8], ty: Option<ScalarType>) -> Result<Data, String> {
    match extension(path).as_str() {
        "npy" => decode_npy(contents, ty),
        "txt" | "csv" => decode_text(contents, ty),
        _ => Ok(Data { ty, bytes: contents.to_vec() }),
    }
}

/// A file's contents, by the extension of its name; not all of them if the program is asked to stop.
pub fn encode(path: &Path, bytes: &[u8], ty: ScalarType) -> Vec<u8> {
    match extension(path).as_str() {
        "npy" => encode_npy(bytes, ty),
        "txt" | "csv" => numbers(bytes, ty).map(|b| ty.text(b) + "\n").collect::<String>().into_bytes(),
        _ => bytes.to_vec(),
    }
}

/// The bytes of each element, up to where the program is asked to stop.
pub fn numbers(bytes: &[u8], ty: ScalarType) -> impl Iterator<Item = &[u8]> {
    kit::stop::until_requested(bytes.chunks_exact(ty.bytes()))
}

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// Format versions 1 to 3 (NumPy Enhancement Proposal 1), in C order, shape not kept.
fn decode_npy(contents: &[u8], wanted: Option<ScalarType>) -> Result<Data, String> {
    let broken = || "this is not a complete .npy file".to_owned();
    let rest = contents.strip_prefix(NPY_MAGIC).ok_or_else(broken)?;
    let (&[major, _], rest) = rest.split_first_chunk::<2>().ok_or_else(broken)?;
    let (header_bytes, rest) = if major == 1 {
        let (size, rest) = rest.split_first_chunk::<2>().ok_or_else(broken)?;
        (u16::from_le_bytes(*size) as usize, rest)
    } else {
        let (size, rest) = rest.split_first_chunk::<4>().ok_or_else(broken)?;
        (u32::from_le_bytes(*size) as usize, rest)
    };
    let (header, bytes) = rest.split_at_checked(header_bytes).ok_or_else(broken)?;
    let header = String::from_utf8_lossy(header);
    let descriptor = npy_field(&header, "descr").ok_or_else(broken)?.trim_matches(['\'', '"']);
    let shape = npy_shape(&header).ok_or_else(broken)?;
    if npy_field(&header, "fortran_order") == Some("True") && shape.len() > 1 {
        return Err("the array is in Fortran order: save it with numpy.ascontiguousarray".to_owned());
    }
    let same = |ty: &ScalarType| ty.numpy() == descriptor || descriptor == "|b1" && *ty == ScalarType::U8;
    let found = wanted.filter(same).or_else(|| ScalarType::ALL.iter().copied().find(same));
    let Some(ty) = found else { return Err(format!("elements of type {descriptor} are not supported")) };
    match wanted {
        Some(wanted) if wanted != ty => {
            Err(format!("the file has elements of type {}, not {}", ty.name(), wanted.name()))
        }
        _ => {
            let said = shape.iter().try_fold(ty.bytes() as u64, |product, &size| product.checked_mul(size));
            let said = said.ok_or_else(broken)?;
            if said != bytes.len() as u64 {
                let less = if (bytes.len() as u64) < said { "it is cut short" } else { "something follows the array" };
                return Err(format!(
                    "the header says {} of elements, and there are {}: {less}",
                    kit::text::counted(said, "byte"),
                    bytes.len()
                ));
            }
            Ok(Data { ty: Some(ty), bytes: bytes.to_vec() })
        }
    }
}

/// The value of a key of the header, a Python dictionary: up to the next comma outside parentheses.
fn npy_field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let start = header.find(&format!("'{key}'"))? + key.len() + 2;
    let rest = header[start..].trim_start().strip_prefix(':')?.trim_start();
    let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find([',', '}'])? };
    Some(rest[..end].trim())
}

/// Elements along each dimension; none for a single number.
fn npy_shape(header: &str) -> Option<Vec<u64>> {
    let shape = npy_field(header, "shape")?.strip_prefix('(')?.strip_suffix(')')?;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    sizes.map(|size| size.trim_end_matches('L').parse().ok()).collect()
}

fn encode_npy(bytes: &[u8], ty: ScalarType) -> Vec<u8> {
    let count = bytes.len() / ty.bytes();
    let mut header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({count},), }}", ty.numpy());
    // Magic, version, size and header together are a multiple of 64 bytes, the last a line feed.
    let unpadded = NPY_MAGIC.len() + 4 + header.len() + 1;
    header += &" ".repeat(unpadded.next_multiple_of(64) - unpadded);
    header.push('\n');
    [NPY_MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), bytes].concat()
}

/// Numbers between blanks, commas or semicolons; `#` begins a comment.
fn decode_text(contents: &[u8], ty: Option<ScalarType>) -> Result<Data, String> {
    let ty = ty.ok_or("a text file needs a type")?;
    let text = std::str::from_utf8(contents).map_err(|_| "this is not text".to_owned())?;
    let mut bytes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if number.is_multiple_of(LOOK_EVERY as usize) {
            kit::stop::check().map_err(|e| e.to_string())?;
        }
        let line = line.split('#').next().unwrap_or("");
        for word in line.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|w| !w.is_empty()) {
            let value = word.parse().map(Number::Int).ok().or_else(|| word.parse().map(Number::Float).ok());
            let encoded = value.and_then(|v| ty.encode(v));
            let at = || format!("line {}: `{}` is not {}", number + 1, excerpt(word), ty.with_article());
            bytes.extend(encoded.ok_or_else(at)?);
        }
    }
    Ok(Data { ty: Some(ty), bytes })
}

/// The first elements as a person reads them: eight to a line with the index of the first.
pub fn listing(name: &str, bytes: &[u8], ty: ScalarType, count: usize) -> String {
    const PER_LINE: usize = 8;
    let all = bytes.len() / ty.bytes();
    let shown = || numbers(bytes, ty).take(count).map(|b| ty.text(b));
    let listed = all.min(count);
    let mut text = format!("{name}: {all} x {}", ty.name());
    if listed <= PER_LINE {
        let more = if listed < all { ", ..." } else { "" };
        _ = write!(text, " = [{}{more}]", shown().collect::<Vec<_>>().join(", "));
        return text;
    }
    let wide = shown().map(|v| v.len()).max().unwrap_or(0);
    let index_wide = (listed - 1).to_string().len();
    for (i, v) in shown().enumerate() {
        if i.is_multiple_of(PER_LINE) {
            _ = write!(text, "\n  [{i:index_wide$}]");
        }
        _ = write!(text, " {v:>wide$}");
    }
    if listed < all {
        _ = write!(text, "\n  ... {} more", all - listed);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use workloads::element::to_bytes;

    #[test]
    fn npy_round_trip() {
        for &ty in ScalarType::ALL {
            let bytes: Vec<u8> = (0..5).flat_map(|i| ty.encode(Number::Int(i)).unwrap()).collect();
            let file = encode_npy(&bytes, ty);
            assert_eq!((file.len() - bytes.len()) % 64, 0);
            assert_eq!(decode_npy(&file, Some(ty)), Ok(Data { ty: Some(ty), bytes }));
        }
    }

    #[test]
    fn npy_as_numpy_writes_it() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
        let size = (header.len() as u16).to_le_bytes();
        let values = to_bytes(&[1.0f32, 2.0, 3.0, 4.0]).into_owned();
        let file = [b"\x93NUMPY\x01\x00", &size[..], header.as_bytes(), &values].concat();
        assert_eq!(decode_npy(&file, None), Ok(Data { ty: Some(ScalarType::F32), bytes: values }));
        let error = decode_npy(&file, Some(ScalarType::I32)).unwrap_err();
        assert_eq!(error, "the file has elements of type f32, not i32");
        let turned = String::from_utf8_lossy(&file).replace("False", "True ");
        assert!(decode_npy(turned.as_bytes(), None).is_err());
        let cut = decode_npy(&file[..file.len() - 8], None).unwrap_err();
        assert_eq!(cut, "the header says 16 bytes of elements, and there are 8: it is cut short");
        let more = decode_npy(&[&file[..], &[0; 4]].concat(), None).unwrap_err();
        assert!(more.contains("there are 20: something follows"), "{more}");
        let huge = String::from_utf8_lossy(&file).replace("(2, 2)", "(9e9,)");
        assert!(decode_npy(huge.as_bytes(), None).is_err());
    }

    #[test]
    fn shapes() {
        let shape = |text: &str| npy_shape(&format!("{{'shape': {text}, }}"));
        assert_eq!([shape("()"), shape("(3,)"), shape("(2, 3)")], [Some(vec![]), Some(vec![3]), Some(vec![2, 3])]);
        assert_eq!([shape("(-1,)"), shape("(x)"), shape("3"), npy_shape("{}")], [None, None, None, None]);
    }

    #[test]
    fn texts() {
        let path = Path::new("x.TXT");
        let data = decode(path, b"1, 2.0 # two\n-3;4", Some(ScalarType::I32)).unwrap();
        assert_eq!(data.bytes, *to_bytes(&[1i32, 2, -3, 4]));
        assert_eq!(encode(path, &data.bytes, ScalarType::I32), b"1\n2\n-3\n4\n");
        let error = decode(path, b"1\n2.5", Some(ScalarType::I32)).unwrap_err();
        assert_eq!(error, "line 2: `2.5` is not an i32");
    }

    #[test]
    fn listings() {
        let few = to_bytes(&[0.1f32, 1e30, f32::NAN]);
        assert_eq!(listing("x", &few, ScalarType::F32, 2), "x: 3 x f32 = [0.1, 1e30, ...]");
        let many: Vec<i32> = (0..20).collect();
        let many = to_bytes(&many);
        let expected = "n: 20 x i32\n  [0] 0 1 2 3 4 5 6 7\n  [8] 8 9\n  ... 10 more";
        assert_eq!(listing("n", &many, ScalarType::I32, 10), expected);
    }

    proptest! {
        #[test]
        fn no_file_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            _ = decode_npy(&bytes, None);
            _ = decode_npy(&[NPY_MAGIC, &bytes].concat(), None);
            _ = decode_text(&bytes, Some(ScalarType::F32));
        }
    }
}
