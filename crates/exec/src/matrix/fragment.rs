//! Which lane holds which element of a matrix, in which register.

use kit::WARP_LANES;

/// Type of a matrix element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    U8,
    S8,
    U4,
    S4,
    B1,
    S32,
}

impl Element {
    /// Width in bits, in registers and in memory.
    pub const fn bits(self) -> u32 {
        match self {
            Element::F64 => 64,
            Element::F32 | Element::Tf32 | Element::S32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::U8 | Element::S8 => 8,
            Element::U4 | Element::S4 => 4,
            Element::B1 => 1,
        }
    }

    /// Number of elements in a 32-bit register; 1 also for wider elements.
    pub const fn per_register(self) -> u32 {
        let n = 32 / self.bits();
        if n == 0 { 1 } else { n }
    }

    /// Minimum number of 32-bit registers of an element.
    pub(super) const fn registers_each(self) -> u32 {
        self.bits().div_ceil(32)
    }
}

/// Shape of a multiplication: A is m x k, B is k x n, C and D are m x n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub struct Shape {
    pub m: u16,
    pub n: u16,
    pub k: u16,
}

/// The role of a matrix in a multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MatrixOperand {
    A,
    B,
    /// Accumulator: C or D.
    C,
}

/// Order of elements in memory; for `mma.m8n8k4.f16` also in the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `.row`: the elements of a row are adjacent.
    Row,
    /// `.col`: the elements of a column are adjacent.
    Col,
}

/// Position of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Position {
    /// Index of the warp's independent multiplication: 0, or 0 to 3 for `mma.m8n8k4.f16`.
    pub tile: u16,
    pub row: u16,
    pub col: u16,
}

/// The distribution of a matrix over the lanes' registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    operand: MatrixOperand,
    element: Element,
    rows: u16,
    cols: u16,
    /// 32-bit registers per lane.
    registers: u8,
    /// Set for `mma.m8n8k4.f16`, whose four tiles have a layout of their own.
    quad: Option<Order>,
}

/// Position of adjacent elements of a fragment, in registers and in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryElement {
    /// Register column; for 64-bit elements the lower one, and the upper one follows.
    pub register: u8,
    /// Position of the lowest bit in the register.
    pub shift: u8,
    /// Bytes, adjacent in memory and in the register: 1, 2, 4 or 8.
    pub bytes: u8,
    element_bits: u8,
    major: [u16; WARP_LANES],
    minor: [u16; WARP_LANES],
}

impl MemoryElement {
    /// Byte offset from the matrix' address in each lane. Rows (columns of a column-major matrix) are
    /// `stride` elements apart.
    #[inline]
    pub fn offsets(&self, stride: u32) -> [u64; WARP_LANES] {
        let bits = u64::from(self.element_bits);
        std::array::from_fn(|lane| {
            let elements = u64::from(self.major[lane]) * u64::from(stride) + u64::from(self.minor[lane]);
            elements * bits / 8
        })
    }
}

impl Fragment {
    fn new(operand: MatrixOperand, element: Element, shape: Shape) -> Self {
        let Shape { m, n, k } = shape;
        let (rows, cols) = match operand {
            MatrixOperand::A => (m, k),
            MatrixOperand::B => (k, n),
            MatrixOperand::C => (m, n),
        };
        let bits = u32::from(rows) * u32::from(cols) * element.bits();
        let registers = (bits / 32 / WARP_LANES as u32) as u8;
        Fragment { operand, element, rows, cols, registers, quad: None }
    }

    /// The fragment of an operand of `mma` (except `m8n8k4` with f16 factors): A is row-major, B
    /// column-major. `None` if the type has no such shape.
    pub fn mma(operand: MatrixOperand, element: Element, shape: Shape) -> Option<Self> {
        use Element::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
        let exists = match (operand, element, (shape.m, shape.n, shape.k)) {
            (MatrixOperand::C, F16 | F32, (16, 8, 4 | 8 | 16 | 32)) => true,
            (MatrixOperand::C, S32, (8, 8, 16 | 32 | 128)) => true,
            (MatrixOperand::C, S32, (16, 8, 16 | 32 | 64 | 128 | 256)) => true,
            (_, F64, (8, 8, 4) | (16, 8, 4 | 8 | 16)) => true,
            (MatrixOperand::C, ..) => false,
            (_, F16 | Bf16, (16, 8, 8 | 16)) => true,
            (_, Tf32, (16, 8, 4 | 8)) => true,
            (_, E4m3 | E5m2, (16, 8, 16 | 32)) => true,
            (_, U8 | S8, (8, 8, 16) | (16, 8, 16 | 32)) => true,
            (_, U4 | S4, (8, 8, 32) | (16, 8, 32 | 64)) => true,
            (_, B1, (8, 8, 128) | (16, 8, 128 | 256)) => true,
            _ => false,
        };
        exists.then(|| Self::new(operand, element, shape))
    }

    /// The fragment of an operand of `mma.m8n8k4` with f16 factors: four multiplications by eight lanes each.
    /// `order` is the factor's; it is ignored for C.
    pub fn quad(operand: MatrixOperand, element: Element, order: Order) -> Self {
        let registers = if operand == MatrixOperand::C { 8 / element.per_register() as u8 } else { 2 };
        let shape = Shape { m: 8, n: 8, k: 4 };
        Fragment { quad: Some(order), registers, ..Self::new(operand, element, shape) }
    }

    /// The fragment of an operand of `wmma`. `None` if the type has no such shape.
    pub fn wmma(operand: MatrixOperand, element: Element, shape: Shape) -> Option<Self> {
        use Element::{B1, Bf16, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
        let exists = match (operand, element, (shape.m, shape.n, shape.k)) {
            (MatrixOperand::C, F16 | F32 | S32, (16, 16, 16) | (32, 8, 16) | (8, 32, 16)) => true,
            (MatrixOperand::C, F32, (16, 16, 8)) => true,
            (MatrixOperand::C, S32, (8, 8, 32 | 128)) => true,
            (_, F64, (8, 8, 4)) => true,
            (MatrixOperand::C, ..) => false,
            (_, F16 | Bf16 | U8 | S8, (16, 16, 16) | (32, 8, 16) | (8, 32, 16)) => true,
            (_, Tf32, (16, 16, 8)) => true,
            (_, U4 | S4, (8, 8, 32)) => true,
            (_, B1, (8, 8, 128)) => true,
            _ => false,
        };
        let fragment = Self::new(operand, element, shape);
        let repeated = element == F16 && operand != MatrixOperand::C;
        exists.then_some(if repeated { Fragment { registers: 8, ..fragment } } else { fragment })
    }

    /// Type of the elements.
    pub const fn element(&self) -> Element {
        self.element
    }

    /// Rows and columns of the matrix.
    pub const fn size(&self) -> (u16, u16) {
        (self.rows, self.cols)
    }

    /// 32-bit registers per lane.
    pub const fn registers(&self) -> usize {
        self.registers as usize
    }

    /// Elements per lane, including repeated ones.
    pub const fn elements(&self) -> u32 {
        self.registers as u32 * self.element.per_register() / self.element.registers_each()
    }

    /// Independent matrices in the warp: 1, or 4 for `mma.m8n8k4` with f16 factors.
    pub const fn tiles(&self) -> usize {
        if self.quad.is_some() { 4 } else { 1 }
    }

    /// The role of the matrix.
    pub(super) const fn operand(&self) -> MatrixOperand {
        self.operand
    }

    /// Elements per lane, without repetitions.
    pub(super) const fn distinct(&self) -> u32 {
        let all = self.rows as u32 * self.cols as u32 * self.tiles() as u32 / WARP_LANES as u32;
        let held = self.elements();
        if held < all { held } else { all }
    }

    /// Position of element number `index` of `lane`, counted from the lowest bits of the first register.
    pub fn position(&self, lane: u32, index: u32) -> Position {
        if let Some(order) = self.quad {
            return self.quad_position(order, lane, index);
        }
        let index = index % self.distinct();
        let (group, thread) = (lane / 4, lane % 4);
        let per = self.element.per_register();
        let (register, part) = (index / per, index % per);
        // Rows are in blocks of 16 (or 8), whose halves alternate from register to register.
        let halves = if self.rows >= 16 { 2 } else { 1 };
        let (row, col) = match self.operand {
            MatrixOperand::A => {
                let per_block = halves * (u32::from(self.cols) / (4 * per));
                let (block, within) = (register / per_block, register % per_block);
                let row = block * 8 * halves + within % halves * 8 + group;
                (row, within / halves * 4 * per + thread * per + part)
            }
            MatrixOperand::B => {
                let per_block = u32::from(self.rows) / (4 * per);
                let (block, within) = (register / per_block, register % per_block);
                (within * 4 * per + thread * per + part, block * 8 + group)
            }
            MatrixOperand::C => {
                let (pair, part) = (index / 2, index % 2);
                let (half, block) = (pair % halves, pair / halves);
                let across = u32::from(self.cols) / 8;
                let row = block / across * 8 * halves + half * 8 + group;
                (row, block % across * 8 + thread * 2 + part)
            }
        };
        Position { tile: 0, row: row as u16, col: col as u16 }
    }

    /// [`Fragment::position`] for `mma.m8n8k4` with f16 factors: lanes 4t to 4t+3 and 16+4t to
    /// 16+4t+3 work on tile t.
    fn quad_position(&self, order: Order, lane: u32, i: u32) -> Position {
        let tile = (lane % 16 / 4) as u16;
        let upper = if lane < 16 { 0 } else { 4 };
        let thread = lane % 4;
        let (row, col) = match (self.operand, order) {
            (MatrixOperand::A, Order::Row) => (thread + upper, i),
            (MatrixOperand::A, Order::Col) => (i + upper, thread),
            (MatrixOperand::B, Order::Row) => (thread, i + upper),
            (MatrixOperand::B, Order::Col) => (i, thread + upper),
            (MatrixOperand::C, _) if self.element == Element::F16 => (thread + upper, i),
            (MatrixOperand::C, _) => ((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)),
        };
        Position { tile, row: row as u16, col: col as u16 }
    }

    /// Distance in elements between rows (columns) of the matrix in memory where the instruction gives none.
    pub const fn default_stride(&self, order: Order) -> u32 {
        match order {
            Order::Row => self.cols as u32,
            Order::Col => self.rows as u32,
        }
    }

    /// Positions of the elements of a matrix in memory, in the order of the registers: the accesses of
    /// `wmma.load` and `wmma.store`. Elements that are adjacent both in a register and in memory are one
    /// access. A load reads repeated elements again; an accumulator has none.
    ///
    /// `None` for elements narrower than a byte in the order that separates them; no instruction uses it.
    pub fn memory(&self, order: Order) -> Option<Vec<MemoryElement>> {
        let place = |lane: usize, index: u32| {
            let at = self.position(lane as u32, index);
            match order {
                Order::Row => (at.row, at.col),
                Order::Col => (at.col, at.row),
            }
        };
        let per = self.element.per_register();
        let adjacent = (0..WARP_LANES).all(|lane| {
            let (major, minor) = place(lane, 0);
            (1..per).all(|i| place(lane, i) == (major, minor + i as u16))
        });
        let bits = self.element.bits();
        if !adjacent && bits < 8 {
            return None;
        }
        let together = if adjacent { per } else { 1 };
        let element = |index: u32| MemoryElement {
            register: (index * bits / 32) as u8,
            shift: (index * bits % 32) as u8,
            bytes: (together * bits / 8) as u8,
            element_bits: bits as u8,
            major: std::array::from_fn(|lane| place(lane, index).0),
            minor: std::array::from_fn(|lane| place(lane, index).1),
        };
        Some((0..self.elements()).step_by(together as usize).map(element).collect())
    }

    /// Per distinct element the index in an array of tiles of rows, in each lane.
    pub(super) fn table(&self) -> Box<[[u16; WARP_LANES]]> {
        let place = |lane: usize, index: u32| {
            let at = self.position(lane as u32, index);
            (at.tile * self.rows + at.row) * self.cols + at.col
        };
        (0..self.distinct()).map(|index| std::array::from_fn(|lane| place(lane, index))).collect()
    }
}
