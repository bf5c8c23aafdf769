//! Euler equations on an unstructured mesh (A. Corrigan et al., AIAA 2009-4001).

mod mesh;

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use mesh::{Beyond, FACES, Mesh};
use std::array::from_fn;

const GAMMA: f32 = 1.4;
const VISCOSITY: f32 = 0.2;
const STAGES: usize = 3;
/// Density, momentum along the axes, energy.
const ROWS: usize = 5;
/// Pressure 1 at a speed of sound of 1, and a stream of Mach 1.2 at a small angle.
const FAR_FIELD: [f32; ROWS] = [1.4, 1.68, 0.06, 0.0, 3.5];

pub(super) const WORKLOAD: Workload = Workload {
    name: "cfd",
    summary: "flow of a compressible gas around a block, on a mesh of tetrahedra",
    character: "wide kernels with divisions and roots; gathers from four neighbours; streaming updates",
    suite: Suite::Rodinia,
    papers: &[("sgmf", "CFD")],
    module: bundled!("cfd"),
    parameters: &[
        Parameter::new(
            "cells",
            "cells of the mesh, made up to a multiple of `block`",
            [768, 12_288, 97_046],
            1,
            1 << 22,
        ),
        Parameter::new("steps", "steps in time, of three stages each", [1, 1, 2], 1, 2000),
        Parameter::new("block", "threads per CTA", [192; 3], 1, 1024),
        Parameter::new(
            "kernels",
            "kernels launched: 4 all; 3 without compute_flux, the host's work then",
            [4; 3],
            3,
            4,
        )
        .variant(),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (steps, block) = (run.param("steps"), run.param("block"));
    let cells = run.param("cells").next_multiple_of(block);
    let mesh = Mesh::new(cells, || run.float(-1.0, 1.0));
    let neighbours = run.upload("neighbours", &mesh.neighbour_rows())?;
    let normals = run.upload("normals", &mesh.normal_rows())?;
    let areas = run.upload("areas", &mesh.volumes)?;
    let variables = run.alloc::<f32>("variables", ROWS * cells)?;
    let before = run.alloc::<f32>("before", ROWS * cells)?;
    let factors = run.alloc::<f32>("step_factors", cells)?;
    let fluxes = run.alloc::<f32>("fluxes", ROWS * cells)?;
    run.write_symbol("far_field", &FAR_FIELD)?;
    let (grid, count) = (cells / block, cells as i32);

    run.launch("initialize", grid, block, &[variables.into(), count.into()])?;
    let mut now = run.download::<f32>(variables)?;
    run.check_equal("initial", &now, &FAR_FIELD.map(|value| vec![value; cells]).concat());
    // A disturbance, so that something happens everywhere.
    now.iter_mut().for_each(|value| *value *= run.float(0.98, 1.02));
    run.write(variables, &now)?;

    // Each launch is compared by itself, from what it read.
    for _ in 0..steps {
        let start = now.clone();
        run.write(before, &start)?;
        run.launch(
            "compute_step_factor",
            grid,
            block,
            &[variables.into(), areas.into(), factors.into(), count.into()],
        )?;
        let got_factors = run.download::<f32>(factors)?;
        run.check_bounds("step factors", &got_factors, &step_factors(&mesh, &start));
        for stage in 0..STAGES {
            let right = all_fluxes(&mesh, &now);
            if run.param("kernels") == 3 {
                run.write(fluxes, &right.iter().map(|flux| flux.value() as f32).collect::<Vec<_>>())?;
            } else {
                let args = [neighbours.into(), normals.into(), variables.into(), fluxes.into(), count.into()];
                run.launch("compute_flux", grid, block, &args)?;
            }
            let got_fluxes = run.download::<f32>(fluxes)?;
            run.check_bounds("fluxes", &got_fluxes, &right);
            let arrays = [before, variables, factors, fluxes].map(Into::into);
            run.launch("time_step", grid, block, &[&arrays[..], &[count.into(), (stage as i32).into()]].concat())?;
            now = run.download(variables)?;
            let expected = advanced(&start, &got_factors, &got_fluxes, stage);
            run.check_bounds("variables", &now, &expected);
        }
        if run.check_failed() {
            break;
        }
    }
    Ok(())
}

/// The gas of a cell, and its flow.
#[derive(Clone, Copy)]
struct Gas {
    density: F32,
    momentum: [F32; 3],
    energy: F32,
    velocity: [F32; 3],
    pressure: F32,
    /// Speed of the fastest wave.
    wave: F32,
}

fn dot(a: [F32; 3], b: [F32; 3]) -> F32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Gas {
    fn new([density, x, y, z, energy]: [f32; ROWS]) -> Self {
        let (density, momentum, energy) = (F32::from(density), [x, y, z].map(F32::from), F32::from(energy));
        let velocity = momentum.map(|m| m / density);
        let squared = dot(velocity, velocity);
        let pressure = F32::from(GAMMA - 1.0) * (energy - F32::from(0.5) * density * squared);
        let wave = squared.sqrt() + (F32::from(GAMMA) * pressure / density).sqrt();
        Self { density, momentum, energy, velocity, pressure, wave }
    }

    /// The gas of every cell.
    fn all(variables: &[f32]) -> Vec<Self> {
        let cells = variables.len() / ROWS;
        (0..cells).map(|i| Self::new(from_fn(|row| variables[row * cells + i]))).collect()
    }

    fn conserved(&self) -> [F32; ROWS] {
        let [x, y, z] = self.momentum;
        [self.density, x, y, z, self.energy]
    }

    /// Half of what is carried through a face.
    fn carried(&self, normal: [F32; 3]) -> [F32; ROWS] {
        let through = F32::from(0.5) * dot(normal, self.velocity);
        let push = F32::from(0.5) * self.pressure;
        let [x, y, z] = from_fn(|axis| through * self.momentum[axis] + push * normal[axis]);
        [through * self.density, x, y, z, through * (self.energy + self.pressure)]
    }
}

fn step_factors(mesh: &Mesh, variables: &[f32]) -> Vec<F32> {
    let factor = |(gas, &size): (&Gas, &f32)| F32::from(0.5) / (F32::from(size).sqrt() * gas.wave);
    Gas::all(variables).iter().zip(&mesh.volumes).map(factor).collect()
}

/// Row by quantity.
fn all_fluxes(mesh: &Mesh, variables: &[f32]) -> Vec<F32> {
    let gas = Gas::all(variables);
    let fluxes: Vec<[F32; ROWS]> = (0..mesh.cells()).map(|cell| flux(mesh, &gas, cell)).collect();
    (0..ROWS).flat_map(|row| fluxes.iter().map(move |flux| flux[row])).collect()
}

/// Gain of a cell through its faces.
fn flux(mesh: &Mesh, gas: &[Gas], cell: usize) -> [F32; ROWS] {
    let mine = &gas[cell];
    let mut sum = [F32::exact(0.0); ROWS];
    let mut add = |more: [F32; ROWS]| sum = from_fn(|row| sum[row] + more[row]);
    for face in 0..FACES {
        let normal = mesh.normals[cell][face].map(F32::from);
        match mesh.neighbours[cell][face] {
            Beyond::Cell(other) => {
                let other = &gas[other];
                let factor = dot(normal, normal).sqrt() * F32::from(0.5 * VISCOSITY) * (mine.wave + other.wave);
                let (from, to) = (other.conserved(), mine.conserved());
                add(from_fn(|row| factor * (from[row] - to[row])));
                add(mine.carried(normal));
                add(other.carried(normal));
            }
            Beyond::Wall => {
                let [x, y, z] = normal.map(|n| n * mine.pressure);
                add([F32::exact(0.0), x, y, z, F32::exact(0.0)]);
            }
            Beyond::FarField => {
                add(mine.carried(normal));
                add(Gas::new(FAR_FIELD).carried(normal));
            }
        }
    }
    sum
}

/// The variables after a stage.
fn advanced(before: &[f32], factors: &[f32], fluxes: &[f32], stage: usize) -> Vec<F32> {
    let part = F32::exact((STAGES - stage) as f64);
    let one = |(i, (&old, &flux)): (usize, (&f32, &f32))| {
        F32::from(old) + F32::from(factors[i % factors.len()]) / part * F32::from(flux)
    };
    before.iter().zip(fluxes).enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn an_even_stream_stays() {
        // Without a wall, as much leaves each cell as enters it.
        let mesh = Mesh::new(12, || 0.5);
        let cells = mesh.cells();
        let even = FAR_FIELD.map(|value| vec![value; cells]).concat();
        assert!(all_fluxes(&mesh, &even).iter().all(|flux| flux.value().abs() < 1e-7 && flux.admits(0.0)));
    }

    #[test]
    fn a_wall_pushes_back() {
        let wall = [[Beyond::Wall; FACES]];
        let mesh = Mesh {
            neighbours: wall.into(),
            normals: vec![[[0.0; 3], [0.0; 3], [0.0; 3], [0.0, 2.0, 0.0]]],
            volumes: vec![1.0],
        };
        // Density 1 at rest with a pressure of 0.4 * 2.5.
        let flux = all_fluxes(&mesh, &[1.0, 0.0, 0.0, 0.0, 2.5]);
        let rounded: Vec<f64> = flux.map_values().iter().map(|x| (x * 1e5).round()).collect();
        assert_eq!(rounded, [0.0, 0.0, 2e5, 0.0, 0.0]);
        let factor = step_factors(&mesh, &[1.0, 0.0, 0.0, 0.0, 2.5])[0].value();
        assert!((factor - 0.5 / 1.4f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn stages_take_a_third_a_half_and_the_whole() {
        let after = |stage| advanced(&[1.0], &[3.0], &[2.0], stage)[0].value();
        assert_eq!([after(0), after(1), after(2)], [3.0, 4.0, 7.0]);
    }
}
