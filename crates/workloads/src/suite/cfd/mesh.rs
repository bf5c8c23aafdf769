//! A mesh of tetrahedra around a block in a stream.
//!
//! Cubes of which each is cut into six tetrahedra (H. W. Kuhn, 1960), their corners moved a little; the
//! cubes in the middle are the block. Cells are numbered bin by bin, so that neighbours are near each
//! other in memory, as in the meshes of Corrigan et al. (AIAA 2009-4001).

/// Faces of a cell.
pub(super) const FACES: usize = 4;
/// Tetrahedra of a cube: each is a walk from one corner to the opposite one, along the axes in an order.
const WALKS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
/// Length of a cube's edge.
const EDGE: f64 = 0.25;
/// By how much of an edge a corner is moved along an axis, at most.
const MOVED: f64 = 0.1;
/// Cubes along the side of a bin.
const BIN: usize = 4;

type Cube = [usize; 3];
type Vector = [f64; 3];
/// A cube and a tetrahedron in it.
type Place = (Option<Cube>, usize);

/// The neighbour beyond a face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Beyond {
    Cell(usize),
    Wall,
    FarField,
}

impl Beyond {
    /// The kernel's number of it.
    fn number(self) -> i32 {
        match self {
            Self::Cell(cell) => cell as i32,
            Self::Wall => -1,
            Self::FarField => -2,
        }
    }
}

/// One entry per cell.
pub(super) struct Mesh {
    pub neighbours: Vec<[Beyond; FACES]>,
    /// Of each face: into the cell, as long as the face is large.
    pub normals: Vec<[[f32; 3]; FACES]>,
    pub volumes: Vec<f32>,
}

impl Mesh {
    /// `draw` gives numbers from -1 to 1 by which the corners are moved.
    pub fn new(cells: usize, mut draw: impl FnMut() -> f32) -> Self {
        let grid = Grid::of(cells);
        let corners = (grid.side + 1).pow(3);
        let moved: Vec<Vector> = (0..corners).map(|_| std::array::from_fn(|_| MOVED * f64::from(draw()))).collect();
        let numbers = grid.numbers(cells);
        let mut mesh = Self { neighbours: Vec::new(), normals: Vec::new(), volumes: Vec::new() };
        for (cube, walk) in grid.cells().take(cells) {
            let corners = corners_of(cube, walk).map(|corner| {
                let moved = moved[grid.corner(corner)];
                std::array::from_fn(|axis| EDGE * (corner[axis] as f64 + moved[axis]))
            });
            mesh.neighbours.push(beyond(cube, walk).map(|next| grid.beyond(next, &numbers)));
            mesh.normals.push(std::array::from_fn(|face| inward(&corners, face).map(|x| x as f32)));
            mesh.volumes.push(volume(&corners) as f32);
        }
        mesh
    }

    pub fn cells(&self) -> usize {
        self.volumes.len()
    }

    /// Row by face.
    pub fn neighbour_rows(&self) -> Vec<i32> {
        (0..FACES).flat_map(|face| self.neighbours.iter().map(move |n| n[face].number())).collect()
    }

    /// Row by axis and face.
    pub fn normal_rows(&self) -> Vec<f32> {
        let rows = (0..3).flat_map(|axis| (0..FACES).map(move |face| (axis, face)));
        rows.flat_map(|(axis, face)| self.normals.iter().map(move |n| n[face][axis])).collect()
    }
}

/// A cube of cubes, the ones in the middle missing.
struct Grid {
    side: usize,
}

impl Grid {
    /// The smallest with room for a number of cells.
    fn of(cells: usize) -> Self {
        let room = |side: &usize| WALKS.len() * (side.pow(3) - (side / 3).pow(3)) >= cells;
        Self { side: (1..).find(room).expect("it grows") }
    }

    fn is_block(&self, cube: Cube) -> bool {
        let third = self.side / 3;
        cube.iter().all(|x| (third..2 * third).contains(x))
    }

    fn index(&self, cube: Cube) -> usize {
        (cube[2] * self.side + cube[1]) * self.side + cube[0]
    }

    /// The index of a corner of cubes.
    fn corner(&self, at: Cube) -> usize {
        (at[2] * (self.side + 1) + at[1]) * (self.side + 1) + at[0]
    }

    /// All cells in the order of their numbers.
    fn cells(&self) -> impl Iterator<Item = (Cube, usize)> {
        let mut cubes: Vec<Cube> = (0..self.side.pow(3))
            .map(|i| [i % self.side, i / self.side % self.side, i / self.side / self.side])
            .filter(|&cube| !self.is_block(cube))
            .collect();
        cubes.sort_by_key(|cube| cube.map(|x| x / BIN));
        cubes.into_iter().flat_map(|cube| (0..WALKS.len()).map(move |walk| (cube, walk)))
    }

    /// The number of each cube's cells that are among the first `cells`.
    fn numbers(&self, cells: usize) -> Vec<[Option<usize>; WALKS.len()]> {
        let mut numbers = vec![[None; WALKS.len()]; self.side.pow(3)];
        for (number, (cube, walk)) in self.cells().enumerate().take(cells) {
            numbers[self.index(cube)][walk] = Some(number);
        }
        numbers
    }

    /// The cell at a place; without a cube it is out of the grid.
    fn beyond(&self, place: Place, numbers: &[[Option<usize>; WALKS.len()]]) -> Beyond {
        let (Some(cube), walk) = place else { return Beyond::FarField };
        if cube.iter().any(|&x| x >= self.side) {
            return Beyond::FarField;
        }
        match numbers[self.index(cube)][walk] {
            Some(cell) => Beyond::Cell(cell),
            None if self.is_block(cube) => Beyond::Wall,
            None => Beyond::FarField,
        }
    }
}

/// The corners of a cell, from the cube's first to its last.
fn corners_of(cube: Cube, walk: usize) -> [Cube; FACES] {
    let mut at = cube;
    let mut step = |axis: usize| {
        at[axis] += 1;
        at
    };
    let [a, b, c] = WALKS[walk];
    [cube, step(a), step(b), step(c)]
}

/// The cells beyond the faces; face `i` is opposite of corner `i`.
fn beyond(cube: Cube, walk: usize) -> [Place; FACES] {
    let [a, b, c] = WALKS[walk];
    let walk = |axes| WALKS.iter().position(|&w| w == axes).expect("all orders are listed");
    let moved = |axis: usize, x: usize| {
        let mut cube = cube;
        cube[axis] = x;
        cube
    };
    let (after, before) = (Some(moved(a, cube[a] + 1)), cube[c].checked_sub(1).map(|x| moved(c, x)));
    [(after, walk([b, c, a])), (Some(cube), walk([b, a, c])), (Some(cube), walk([a, c, b])), (before, walk([c, a, b]))]
}

fn minus(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] - b[i])
}

fn cross(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3])
}

fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The normal of the face that is opposite of a corner.
fn inward(corners: &[Vector; FACES], face: usize) -> Vector {
    let [a, b, c] = [1, 2, 3].map(|i| corners[(face + i) % FACES]);
    let normal = cross(minus(b, a), minus(c, a));
    let half = if dot(normal, minus(corners[face], a)) > 0.0 { 0.5 } else { -0.5 };
    normal.map(|x| half * x)
}

fn volume([a, b, c, d]: &[Vector; FACES]) -> f64 {
    dot(minus(*b, *a), cross(minus(*c, *a), minus(*d, *a))).abs() / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corners moved to one side and to the other in turn.
    fn mesh(cells: usize) -> Mesh {
        let mut count = 0u32;
        Mesh::new(cells, || {
            count += 1;
            (count.wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32) * 2.0 - 1.0
        })
    }

    #[test]
    fn neighbours_share_a_face() {
        let mesh = mesh(500);
        let mut inner = 0;
        for (cell, neighbours) in mesh.neighbours.iter().enumerate() {
            for (face, beyond) in neighbours.iter().enumerate() {
                let Beyond::Cell(other) = *beyond else { continue };
                let back = mesh.neighbours[other].iter().position(|&b| b == Beyond::Cell(cell)).expect("mutual");
                assert_eq!(mesh.normals[other][back], mesh.normals[cell][face].map(|x| -x));
                inner += 1;
            }
        }
        assert!(inner > 500 * 3);
    }

    #[test]
    fn cells_are_closed_and_fill_the_grid() {
        let mesh = mesh(6 * 26);
        for normals in &mesh.normals {
            for axis in 0..3 {
                assert!(normals.iter().map(|n| n[axis]).sum::<f32>().abs() < 1e-7);
            }
        }
        // 27 cubes without the one in the middle, but for the moved corners.
        let volume: f32 = mesh.volumes.iter().sum();
        let cube = EDGE.powi(3) as f32;
        assert!((24.0 * cube..28.0 * cube).contains(&volume) && mesh.volumes.iter().all(|&v| v > 0.0), "{volume}");
        let count = |what| mesh.neighbours.iter().flatten().filter(|&&b| b == what).count();
        assert_eq!((count(Beyond::Wall), count(Beyond::FarField)), (12, 6 * 9 * 2));
    }

    #[test]
    fn a_part_of_a_cube() {
        let mesh = mesh(1);
        assert_eq!(mesh.neighbours, [[Beyond::FarField; FACES]]);
        assert_eq!((mesh.neighbour_rows(), mesh.normal_rows().len()), (vec![-2; 4], 12));
    }
}
