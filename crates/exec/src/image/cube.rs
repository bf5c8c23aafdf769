//! Faces of cube maps, in the order +x, -x, +y, -y, +z, -z (CUDA C++ Programming Guide, "Cubemap Textures").

/// Faces of a cube.
pub(super) const FACES: u32 = 6;

/// The face that the direction (x, y, z) points to, and where on it: from -1 to 1 along both axes.
pub(super) fn face([x, y, z]: [f64; 3]) -> (u32, [f64; 2]) {
    let [width, height, depth] = [x, y, z].map(f64::abs);
    let (face, m, s, t) = if depth >= width && depth >= height {
        if z >= 0.0 { (4, depth, x, -y) } else { (5, depth, -x, -y) }
    } else if height >= width {
        if y >= 0.0 { (2, height, x, z) } else { (3, height, x, -z) }
    } else if x >= 0.0 {
        (0, width, -z, -y)
    } else {
        (1, width, z, -y)
    };
    (face, [s / m, t / m])
}

/// The texel in column and row `at` of a face with `side` columns and rows, at most one of them outside: then
/// it is on the adjacent face. `None` at a corner of the cube.
pub(super) fn across(of: u32, at: [i64; 2], side: u32) -> Option<(u32, [u32; 2])> {
    let n = i64::from(side);
    let outside = at.map(|i| !(0..n).contains(&i));
    if outside == [true; 2] {
        return None;
    }
    if outside == [false; 2] {
        return Some((of, at.map(|i| i as u32)));
    }
    // The direction of the texel's centre; a face is `side` away from the centre of the cube.
    let [s, t] = at.map(|i| 2 * i + 1 - n);
    let direction = match of {
        0 => [n, -t, -s],
        1 => [-n, -t, s],
        2 => [s, n, t],
        3 => [s, -n, -t],
        4 => [s, -t, n],
        _ => [-s, -t, -n],
    };
    let (face, place) = face(direction.map(|x| x as f64));
    let index = |x: f64| (((x + 1.0) / 2.0 * f64::from(side)) as u32).min(side - 1);
    Some((face, place.map(index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_point_to_the_middle_of_faces() {
        let axes =
            [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, -3.0]];
        for (number, direction) in (0..).zip(axes) {
            assert_eq!(face(direction), (number, [0.0; 2]));
        }
        assert_eq!(face([4.0, 1.0, 2.0]), (0, [-0.5, -0.25]));
        assert_eq!(face([1.0, -4.0, 2.0]), (3, [0.25, -0.5]));
    }

    /// Two texels at an edge are next to each other, whichever of them one starts from.
    #[test]
    fn an_edge_has_the_same_texels_on_both_sides() {
        const SIDE: u32 = 5;
        let n = i64::from(SIDE);
        for of in 0..FACES {
            for along in 0..n {
                for outside in [[-1, along], [n, along], [along, -1], [along, n]] {
                    let (other, at) = across(of, outside, SIDE).unwrap();
                    assert_ne!(other, of);
                    let here = outside.map(|i| i.clamp(0, n - 1) as u32);
                    let [x, y] = at.map(i64::from);
                    // One of the four steps out of the other face leads back.
                    let steps = [[-1, y], [n, y], [x, -1], [x, n]];
                    let is_back = |&[p, q]: &[i64; 2]| (p - x).abs() + (q - y).abs() == 1;
                    let back: Vec<_> = steps.iter().filter(|s| is_back(s)).map(|&s| across(other, s, SIDE)).collect();
                    assert!(back.contains(&Some((of, here))), "{of} {outside:?}: {other} {at:?}, back {back:?}");
                }
            }
        }
        assert_eq!(across(0, [-1, n], SIDE), None);
        assert_eq!(across(3, [1, 2], SIDE), Some((3, [1, 2])));
    }
}
