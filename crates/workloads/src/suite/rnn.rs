//! Recurrent layers.

use crate::bounded::F32;
use crate::bundled;
use crate::check::Check;
use crate::device::{ArgBytes, Buffer};
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 128;
/// Rows and columns of a CTA's product, terms of which each of its four warps adds up a quarter.
const TILE: usize = 32;
/// Inputs of a batch that have products of their own.
const FEW: usize = 4;
/// Widest state of the kernel of all steps.
const WIDEST: usize = 64;
/// CUDA's exponential and hyperbolic tangent are accurate to 2 ulp (CUDA C++ Programming Guide, table of
/// single-precision functions).
const EXP_ULPS: f64 = 2.0;
const TANH_ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "rnn",
    summary: "a recurrent layer, LSTM or GRU, and its gradients by data; by steps, or with its weights in registers",
    character: "small launches one after the other: a product with few columns, then a thread for each number of the state",
    suite: Suite::DeepBench,
    papers: &[("socgpu", "rnn_lstm_train, rnn_lstm_inference, rnn_gru_train, rnn_gru_inference")],
    module: bundled!("rnn"),
    parameters: &[
        Parameter::new("cell", "1: LSTM; 2: GRU", [1; 3], 1, 2).variant(),
        Parameter::new("training", "1: with the gradients; 0: forward only", [1; 3], 0, 1).variant(),
        Parameter::new(
            "persistent",
            "1: all steps forward by one launch, without gradients; hidden at most 64",
            [0; 3],
            0,
            1,
        )
        .variant(),
        Parameter::new("hidden", "numbers of a state", [32, 128, 256], 1, 4096),
        Parameter::new("batch", "inputs at a time", [8, 32, 64], 1, 4096),
        Parameter::new("steps", "steps", [2, 6, 6], 1, 4096),
    ],
    body,
};

/// Kind of the cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Lstm,
    Gru,
}

/// A layer: sizes, and what all steps share.
struct Layer {
    cell: Cell,
    hidden: usize,
    batch: usize,
    steps: usize,
    weights: Vec<f32>,
    bias: Vec<f32>,
}

/// Arrays of the forward pass, step by step; of cells and states one more, the first of which is given.
struct Forward {
    /// The recurrent weights times the states.
    sums: Vec<f32>,
    gates: Vec<f32>,
    cells: Vec<f32>,
    states: Vec<f32>,
}

impl Layer {
    /// Rows of weights for each number of the state.
    fn gates(&self) -> usize {
        if self.cell == Cell::Lstm { 4 } else { 3 }
    }

    /// Numbers of a step's states.
    fn size(&self) -> usize {
        self.hidden * self.batch
    }

    /// Numbers of a step's gates.
    fn wide(&self) -> usize {
        self.gates() * self.size()
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let cell = if run.param("cell") == 1 { Cell::Lstm } else { Cell::Gru };
    let [hidden, batch, steps] = ["hidden", "batch", "steps"].map(|name| run.param(name));
    let persistent = run.param("persistent") == 1;
    if persistent && hidden > WIDEST {
        let rule = format!("with persistent=1 it must be at most {WIDEST}: a thread keeps a row of the weights");
        let value = hidden as u64;
        return Err(WorkloadError::BadParameter { workload: WORKLOAD.name, name: "hidden", value, rule });
    }
    let mut layer = Layer { cell, hidden, batch, steps, weights: Vec::new(), bias: Vec::new() };
    let rows = layer.gates() * hidden;
    let most = 1.0 / (hidden as f32).sqrt();
    layer.weights = run.floats(rows * hidden, -most, most);
    layer.bias = run.floats(rows, -0.5, 0.5);
    let size = layer.size();
    let input = run.floats(steps * size, -1.0, 1.0);
    let [cells, states] = [(); 2].map(|()| [run.floats(size, -1.0, 1.0), vec![0.0; steps * size]].concat());
    let device = Arrays {
        weights: run.upload("weights", &layer.weights)?,
        bias: run.upload("bias", &layer.bias)?,
        input: run.upload("input", &input)?,
        sums: run.alloc::<f32>("sums", steps * layer.wide())?,
        gates: run.alloc::<f32>("gates", steps * layer.wide())?,
        cells: run.upload("cells", &cells)?,
        states: run.upload("states", &states)?,
    };
    if persistent {
        // For inference: it leaves no gates.
        return all_steps(run, &layer, &device, &input);
    }
    let forward = step_by_step(run, &layer, &device, &input)?;
    if run.param("training") == 1 { back(run, &layer, &device, &forward) } else { Ok(()) }
}

/// The layer's arrays on the device.
struct Arrays {
    weights: Buffer,
    bias: Buffer,
    input: Buffer,
    sums: Buffer,
    gates: Buffer,
    cells: Buffer,
    states: Buffer,
}

/// The address of a step's part of an array.
fn of_step(buffer: Buffer, step: usize, numbers: usize) -> ArgBytes {
    (buffer.address + (step * numbers * size_of::<f32>()) as u64).into()
}

fn numbers<const N: usize>(values: [usize; N]) -> [ArgBytes; N] {
    values.map(|value| (value as i32).into())
}

fn all_steps(run: &mut Run<'_>, layer: &Layer, device: &Arrays, input: &[f32]) -> Result<(), WorkloadError> {
    let lstm = layer.cell == Cell::Lstm;
    let Arrays { weights, bias, input: x, cells, states, .. } = *device;
    let arrays = if lstm { vec![weights, x, bias, cells, states] } else { vec![weights, x, bias, states] };
    let mut args: Vec<ArgBytes> = arrays.into_iter().map(Into::into).collect();
    args.extend(numbers([layer.hidden, layer.batch, layer.steps]));
    let kernel = if lstm { "lstm_persistent" } else { "gru_persistent" };
    run.launch(kernel, layer.batch, layer.gates() * WIDEST, &args)?;
    let [cells, states] = [run.download::<f32>(cells)?, run.download::<f32>(states)?];
    let size = layer.size();
    for step in 0..layer.steps {
        let [input, before] = [&input[step * size..][..size], &states[step * size..][..size]];
        let sums: Vec<F32> = layer.bounded_sums(before);
        let gates = layer.activated(&sums, input);
        let next = layer.next(&gates, &cells[step * size..][..size], before);
        if lstm {
            run.check_bounds("cells", &cells[(step + 1) * size..][..size], &next.cells);
        }
        run.check_bounds("states", &states[(step + 1) * size..][..size], &next.states);
    }
    Ok(())
}

fn step_by_step(run: &mut Run<'_>, layer: &Layer, device: &Arrays, input: &[f32]) -> Result<Forward, WorkloadError> {
    let Layer { hidden, batch, steps, .. } = *layer;
    let (size, wide, rows) = (layer.size(), layer.wide(), layer.gates() * hidden);
    let lstm = layer.cell == Cell::Lstm;
    for step in 0..steps {
        let [sums, gates] = [device.sums, device.gates].map(|buffer| of_step(buffer, step, wide));
        let [input, cells, states] = [device.input, device.cells, device.states].map(|b| of_step(b, step, size));
        let product = [device.weights.into(), Clone::clone(&states), Clone::clone(&sums)];
        let args = [&product[..], &numbers([rows, batch, hidden])].concat();
        if batch <= FEW {
            run.launch("recurrent_of_few", [rows.div_ceil(THREADS / 32), batch], THREADS, &args)?;
        } else {
            run.launch("recurrent", [rows.div_ceil(TILE), batch.div_ceil(TILE)], THREADS, &args)?;
        }
        let mut args = vec![sums, input, device.bias.into(), gates];
        args.extend(lstm.then_some(cells));
        args.push(states);
        args.extend(numbers([hidden, batch]));
        run.launch(if lstm { "lstm" } else { "gru" }, size.div_ceil(THREADS), THREADS, &args)?;
    }
    let forward = Forward {
        sums: run.download::<f32>(device.sums)?,
        gates: run.download::<f32>(device.gates)?,
        cells: run.download::<f32>(device.cells)?,
        states: run.download::<f32>(device.states)?,
    };
    // Each array from what the device had before: so errors do not add up.
    for step in 0..steps {
        let [sums, gates] = [&forward.sums, &forward.gates].map(|array| &array[step * wide..][..wide]);
        let [cells, states] = [&forward.cells, &forward.states].map(|array| &array[step * size..][..2 * size]);
        let expected = if batch <= FEW { of_few(&layer.weights, states, hidden, batch) } else { layer.sums(states) };
        run.check(Check::same_bits("recurrent sums", sums, &expected));
        let exact: Vec<F32> = sums.iter().map(|&sum| sum.into()).collect();
        run.check_bounds("gates", gates, &layer.activated(&exact, &input[step * size..][..size]));
        let exact: Vec<F32> = gates.iter().map(|&gate| gate.into()).collect();
        if lstm {
            let next = layer.next(&exact, &cells[..size], &states[..size]);
            run.check_bounds("cells", &cells[size..], &next.cells);
        }
        // From the device's own cells.
        run.check_bounds("states", &states[size..], &layer.states(&exact, &cells[size..], &states[..size]));
    }
    Ok(forward)
}

/// The gradients by data, from the last step to the first.
fn back(run: &mut Run<'_>, layer: &Layer, device: &Arrays, forward: &Forward) -> Result<(), WorkloadError> {
    let Layer { hidden, batch, steps, .. } = *layer;
    let (size, wide, rows) = (layer.size(), layer.wide(), layer.gates() * hidden);
    let lstm = layer.cell == Cell::Lstm;
    let out = run.floats(steps * size, -1.0, 1.0);
    let out_gradients = run.upload("gradients of outputs", &out)?;
    let in_gradients = run.alloc::<f32>("gradients of inputs", steps * size)?;
    let gradients = run.alloc::<f32>("gradients of sums", steps * wide)?;
    // Of each step and, zero, what the last one has from the next.
    let products = run.zeroed::<f32>("products", (steps + 1) * size)?;
    let carry = run.zeroed::<f32>("carry", (steps + 1) * size)?;
    for step in (0..steps).rev() {
        let from_next = [products, carry].map(|buffer| of_step(buffer, step + 1, size));
        let [product, carry] = [products, carry].map(|buffer| of_step(buffer, step, size));
        let [by_out, by_in] = [out_gradients, in_gradients].map(|buffer| of_step(buffer, step, size));
        let [sums, gates, by_sums] = [device.sums, device.gates, gradients].map(|buffer| of_step(buffer, step, wide));
        let [cells, states] = [device.cells, device.states].map(|buffer| of_step(buffer, step, size));
        let [next_product, next_carry] = from_next;
        let mut args = vec![by_out, next_product, gates];
        if lstm {
            args.push(cells)
        } else {
            args.extend([sums, states])
        }
        args.extend([next_carry, Clone::clone(&by_sums), by_in, carry]);
        args.extend(numbers([hidden, batch]));
        run.launch(if lstm { "lstm_back" } else { "gru_back" }, size.div_ceil(THREADS), THREADS, &args)?;
        let args = [&[device.weights.into(), by_sums, product][..], &numbers([hidden, batch, rows])].concat();
        run.launch("recurrent_back", [hidden.div_ceil(TILE), batch.div_ceil(TILE)], THREADS, &args)?;
    }
    let (by_in, by_sums) = (run.download::<f32>(in_gradients)?, run.download::<f32>(gradients)?);
    let (products, carry) = (run.download::<f32>(products)?, run.download::<f32>(carry)?);
    for step in 0..steps {
        let expected = layer.back(forward, step, &out, &products, &carry);
        let got = &by_sums[step * wide..][..wide];
        run.check_bounds("gradients of sums", got, &expected.sums);
        run.check_bounds("carry", &carry[step * size..][..size], &expected.carry);
        run.check_bounds("gradients of inputs", &by_in[step * size..][..size], &expected.input);
        let transposed = |row: usize, term: usize| layer.weights[term * hidden + row];
        let expected = sliced(transposed, got, hidden, rows);
        run.check(Check::same_bits("products", &products[step * size..][..size], &expected));
    }
    Ok(())
}

/// Columns of `rows` sums of `terms` products, added up in four slices as the kernels do.
fn sliced(factor: impl Fn(usize, usize) -> f32, columns: &[f32], rows: usize, terms: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(columns.len() / terms * rows);
    for column in columns.chunks_exact(terms) {
        for row in 0..rows {
            let mut slices = [0.0f32; 4];
            for (term, &value) in column.iter().enumerate() {
                let sum = &mut slices[term % TILE / (TILE / 4)];
                *sum = factor(row, term).mul_add(value, *sum);
            }
            out.push(slices[0] + slices[1] + slices[2] + slices[3]);
        }
    }
    out
}

/// The same sums of whole rows by warps: each lane adds up the terms that are its own, then a tree the lanes.
fn of_few(weights: &[f32], states: &[f32], hidden: usize, batch: usize) -> Vec<f32> {
    let sum = |row: &[f32], state: &[f32]| {
        let mut lanes = [0.0f32; 32];
        for (i, (weight, value)) in row.iter().zip(state).enumerate() {
            lanes[i % 32] = weight.mul_add(*value, lanes[i % 32]);
        }
        for distance in [16, 8, 4, 2, 1] {
            (0..distance).for_each(|lane| lanes[lane] += lanes[lane + distance]);
        }
        lanes[0]
    };
    let states = states.chunks_exact(hidden).take(batch);
    states.flat_map(|state| weights.chunks_exact(hidden).map(move |row| sum(row, state))).collect()
}

fn sigmoid(x: F32) -> F32 {
    F32::exact(1.0) / (F32::exact(1.0) + (-x).exp(EXP_ULPS))
}

/// One minus a value.
fn rest(x: F32) -> F32 {
    F32::exact(1.0) + -x
}

/// Results of a step.
struct Next {
    cells: Vec<F32>,
    states: Vec<F32>,
}

/// Gradients of a step.
struct Gradients {
    sums: Vec<F32>,
    input: Vec<F32>,
    carry: Vec<F32>,
}

impl Layer {
    /// Of a number of a step's states: its place in the bias and in the gates of the step.
    fn place(&self, i: usize) -> [usize; 2] {
        [i % self.hidden, i / self.hidden * self.gates() * self.hidden + i % self.hidden]
    }

    /// The recurrent weights times the states of a step.
    fn sums(&self, states: &[f32]) -> Vec<f32> {
        let factor = |row: usize, term: usize| self.weights[row * self.hidden + term];
        sliced(factor, &states[..self.size()], self.gates() * self.hidden, self.hidden)
    }

    /// The same in the order of the terms.
    fn bounded_sums(&self, states: &[f32]) -> Vec<F32> {
        let sum = |row: &[f32], state: &[f32]| {
            let products = row.iter().zip(state).map(|(&weight, &value)| F32::exact_product(weight, value));
            products.fold(F32::exact(0.0), |sum, product| sum + product)
        };
        let states = states.chunks_exact(self.hidden);
        states.flat_map(|state| self.weights.chunks_exact(self.hidden).map(move |row| sum(row, state))).collect()
    }

    /// The gates: of an LSTM input, forget, output and candidate, of a GRU reset, update and candidate.
    fn activated(&self, sums: &[F32], input: &[f32]) -> Vec<F32> {
        let mut gates = sums.to_vec();
        for (i, &x) in input.iter().enumerate() {
            let [own, at] = self.place(i);
            let x = F32::from(x);
            for gate in 0..self.gates() {
                let (here, bias) = (at + gate * self.hidden, F32::from(self.bias[own + gate * self.hidden]));
                gates[here] = if gate + 1 < self.gates() {
                    sigmoid(sums[here] + x + bias)
                } else if self.cell == Cell::Lstm {
                    (sums[here] + x + bias).tanh(TANH_ULPS)
                } else {
                    (x + bias + gates[at] * sums[here]).tanh(TANH_ULPS)
                };
            }
        }
        gates
    }

    /// Cells (of an LSTM) and states after a step with these gates.
    fn next(&self, gates: &[F32], cells: &[f32], states: &[f32]) -> Next {
        if self.cell == Cell::Gru {
            return Next { cells: Vec::new(), states: self.states(gates, cells, states) };
        }
        let cell = |i: usize| {
            let [_, at] = self.place(i);
            let [input, forget, _, candidate] = [0, 1, 2, 3].map(|gate| gates[at + gate * self.hidden]);
            forget * F32::from(cells[i]) + input * candidate
        };
        let cells: Vec<F32> = (0..self.size()).map(cell).collect();
        let state = |(i, cell): (usize, &F32)| gates[self.place(i)[1] + 2 * self.hidden] * cell.tanh(TANH_ULPS);
        let states = cells.iter().enumerate().map(state).collect();
        Next { cells, states }
    }

    /// States after a step: of an LSTM from its new cells, of a GRU from the states before.
    fn states(&self, gates: &[F32], cells: &[f32], states: &[f32]) -> Vec<F32> {
        let state = |i: usize| {
            let [_, at] = self.place(i);
            let gate = |gate: usize| gates[at + gate * self.hidden];
            match self.cell {
                Cell::Lstm => gate(2) * F32::from(cells[i]).tanh(TANH_ULPS),
                Cell::Gru => rest(gate(1)) * gate(2) + gate(1) * F32::from(states[i]),
            }
        };
        (0..self.size()).map(state).collect()
    }

    /// Gradients of a step; `products` and `carry` are the gradients that the next step left at its place.
    fn back(&self, forward: &Forward, step: usize, out: &[f32], products: &[f32], carry: &[f32]) -> Gradients {
        let (size, wide, hidden) = (self.size(), self.wide(), self.hidden);
        let [zero, one] = [0.0, 1.0].map(F32::exact);
        let mut gradients = Gradients { sums: vec![zero; wide], input: vec![zero; size], carry: vec![zero; size] };
        for i in 0..size {
            let [_, at] = self.place(i);
            let gate = |gate: usize| F32::from(forward.gates[step * wide + at + gate * hidden]);
            let of = |array: &[f32], step: usize| F32::from(array[step * size + i]);
            let state = of(out, step) + of(products, step + 1);
            let carried = of(carry, step + 1);
            let slope = |gate: F32| gate * rest(gate);
            let by: Vec<F32> = if self.cell == Cell::Lstm {
                let [input, forget, output, candidate] = [0, 1, 2, 3].map(gate);
                let squashed = of(&forward.cells, step + 1).tanh(TANH_ULPS);
                let cell = carried + state * output * (one + -(squashed * squashed));
                gradients.carry[i] = cell * forget;
                vec![
                    cell * candidate * slope(input),
                    cell * of(&forward.cells, step) * slope(forget),
                    state * squashed * slope(output),
                    cell * input * (one + -(candidate * candidate)),
                ]
            } else {
                let [reset, update, candidate] = [0, 1, 2].map(gate);
                let state = state + carried;
                let by_candidate = state * rest(update) * (one + -(candidate * candidate));
                gradients.carry[i] = state * update;
                let by_update = state * (of(&forward.states, step) + -candidate) * slope(update);
                let sum = F32::from(forward.sums[step * wide + at + 2 * hidden]);
                let by_reset = by_candidate * sum * slope(reset);
                gradients.input[i] = by_reset + by_update + by_candidate;
                vec![by_reset, by_update, by_candidate * reset]
            };
            if self.cell == Cell::Lstm {
                gradients.input[i] = by[0] + by[1] + by[2] + by[3];
            }
            by.into_iter().enumerate().for_each(|(gate, by)| gradients.sums[at + gate * hidden] = by);
        }
        gradients
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    fn layer(cell: Cell) -> Layer {
        let gates = if cell == Cell::Lstm { 4 } else { 3 };
        let (weights, bias) = ((1..=gates).map(|i| 0.1 * i as f32).collect(), vec![0.05; gates]);
        Layer { cell, hidden: 1, batch: 1, steps: 1, weights, bias }
    }

    /// A step of a layer of one number: gates, cell, state; and, for an output gradient of 1, the gradients of the sums, of
    /// the input and of the carried state.
    fn step(layer: &Layer, input: f32, cell: f32, state: f32) -> (Forward, Gradients) {
        let sums = layer.sums(&[state]);
        let exact: Vec<F32> = sums.iter().map(|&sum| sum.into()).collect();
        let gates = layer.activated(&exact, &[input]);
        let next = layer.next(&gates, &[cell], &[state]);
        let single = |values: &[F32]| values.map_values().into_iter().map(|x| x as f32).collect::<Vec<_>>();
        let [cells, states] =
            [(cell, &next.cells), (state, &next.states)].map(|(x, next)| [vec![x], single(next)].concat());
        let forward = Forward { sums, gates: single(&gates), cells, states };
        let gradients = layer.back(&forward, 0, &[1.0], &[0.0; 2], &[0.0; 2]);
        (forward, gradients)
    }

    #[test]
    fn gradients_are_the_slopes_of_the_forward_pass() {
        for cell in [Cell::Lstm, Cell::Gru] {
            let layer = layer(cell);
            let of = |input: f32, cell: f32, state: f32| {
                let (forward, _) = step(&layer, input, cell, state);
                f64::from(*forward.states.last().unwrap())
            };
            let slope = |moved: &dyn Fn(f32) -> f64| (moved(0.01) - moved(-0.01)) / 0.02;
            let (_, gradients) = step(&layer, 0.3, 0.4, -0.6);
            let by_input = slope(&|d| of(0.3 + d, 0.4, -0.6));
            assert!((gradients.input[0].value() - by_input).abs() < 1e-4, "{by_input} {:?}", gradients.input);
            // By the state before: through the sums and, in a GRU, directly; the cell before is an LSTM's carry.
            let through: f64 =
                gradients.sums.iter().zip(&layer.weights).map(|(by, &w)| by.value() * f64::from(w)).sum();
            let carry = gradients.carry[0].value();
            let by_state = slope(&|d| of(0.3, 0.4, -0.6 + d));
            let direct = if cell == Cell::Gru { carry } else { 0.0 };
            assert!((through + direct - by_state).abs() < 1e-4, "{by_state} {through} {carry}");
            if cell == Cell::Lstm {
                let by_cell = slope(&|d| of(0.3, 0.4 + d, -0.6));
                assert!((carry - by_cell).abs() < 1e-4, "{by_cell} {carry}");
            }
        }
    }

    #[test]
    fn both_orders_of_sums_are_right() {
        let weights: Vec<f32> = (0..2 * 70).map(|i| (i % 7) as f32).collect();
        let states: Vec<f32> = (0..70).map(|i| (i % 5) as f32).collect();
        let expected: Vec<f32> =
            weights.chunks_exact(70).map(|row| row.iter().zip(&states).map(|(w, x)| w * x).sum()).collect();
        assert_eq!(sliced(|row, term| weights[row * 70 + term], &states, 2, 70), expected);
        assert_eq!(of_few(&weights, &states, 70, 1), expected);
    }
}
