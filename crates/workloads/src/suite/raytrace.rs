//! Ray tracing.

use crate::bundled;
use crate::device::ArgBytes;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const BLOCK: [usize; 2] = [16, 8];
const MOST_SPHERES: usize = 32;
const FAR: f32 = 1.0e30;
/// A reflected or shadow ray starts this far from the surface.
const OFFSET: f32 = 0.001;
const LIGHT: Vector = Vector([4.0, 8.0, -5.0]);

pub(super) const WORKLOAD: Workload = Workload {
    name: "raytrace",
    summary: "ray tracing of shiny spheres on a chequered floor, with shadows and reflections of reflections",
    character: "square roots, divisions and branches by pixel: warps diverge by what each ray meets",
    suite: Suite::Ispass,
    papers: &[("ghost", "RAY")],
    module: bundled!("raytrace"),
    parameters: &[
        Parameter::new("width", "columns of the picture", [48, 256, 512], 1, 16384),
        Parameter::new("height", "rows of the picture", [16, 192, 512], 1, 16384),
        Parameter::new("spheres", "spheres", [7; 3], 1, MOST_SPHERES as u64),
        Parameter::new("depth", "reflections that are followed", [4; 3], 0, 32),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [width, height, depth] = ["width", "height", "depth"].map(|name| run.param(name));
    let spheres: Vec<Sphere> = (0..run.param("spheres")).map(|_| Sphere::random(run)).collect();
    let words: Vec<f32> = spheres.iter().flat_map(Sphere::words).collect();
    run.write_symbol("spheres", &words)?;
    let pixels = run.alloc::<u32>("pixels", width * height)?;
    let sizes = [width, height, spheres.len(), depth].map(|n| (n as i32).into());
    let light = ArgBytes::from_bytes(LIGHT.0.iter().flat_map(|x| x.to_le_bytes()).collect());
    let args = [&[pixels.into()][..], &sizes, &[light]].concat();
    run.launch("trace", [width.div_ceil(BLOCK[0]), height.div_ceil(BLOCK[1])], BLOCK, &args)?;
    let got = run.download::<u32>(pixels)?;
    let pixel = |i: usize| trace(&spheres, depth, eye(i % width, i / width, [width, height]));
    run.check_equal("pixels", &got, &(0..width * height).map(pixel).collect::<Vec<_>>());
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Vector([f32; 3]);

impl Vector {
    fn dot(self, other: Self) -> f32 {
        let ([ax, ay, az], [bx, by, bz]) = (self.0, other.0);
        ax.mul_add(bx, ay.mul_add(by, az * bz))
    }

    fn minus(self, other: Self) -> Self {
        Vector(std::array::from_fn(|i| self.0[i] - other.0[i]))
    }

    /// self * by + other.
    fn along(self, by: f32, other: Self) -> Self {
        Vector(std::array::from_fn(|i| self.0[i].mul_add(by, other.0[i])))
    }

    fn unit(self) -> Self {
        let by = 1.0 / self.dot(self).sqrt();
        Vector(self.0.map(|x| x * by))
    }
}

struct Sphere {
    centre: Vector,
    radius: f32,
    colour: Vector,
    /// Share of the light that it reflects.
    mirror: f32,
}

impl Sphere {
    fn random(run: &mut Run<'_>) -> Self {
        let radius = run.float(0.4, 1.0);
        let centre = Vector([run.float(-3.0, 3.0), radius + run.float(0.0, 1.5), run.float(-1.0, 4.0)]);
        let colour = Vector([run.float(0.2, 1.0), run.float(0.2, 1.0), run.float(0.2, 1.0)]);
        Sphere { centre, radius, colour, mirror: run.float(0.2, 0.7) }
    }

    fn words(&self) -> [f32; 8] {
        let ([x, y, z], [red, green, blue]) = (self.centre.0, self.colour.0);
        [x, y, z, self.radius, red, green, blue, self.mirror]
    }

    /// Distance at which a ray enters it; [`FAR`] if it does not.
    fn distance_to(&self, from: Vector, ray: Vector) -> f32 {
        let away = from.minus(self.centre);
        let half = away.dot(ray);
        let rest = (-self.radius).mul_add(self.radius, away.dot(away));
        let root = half.mul_add(half, -rest);
        if root <= 0.0 {
            return FAR;
        }
        let distance = -half - root.sqrt();
        if distance > 0.0 { distance } else { FAR }
    }
}

/// The eye's ray through a pixel.
fn eye(column: usize, row: usize, [width, height]: [usize; 2]) -> (Vector, Vector) {
    let step = 2.0 / width as f32;
    let across = (column as f32 + 0.5).mul_add(step, -1.0);
    let up = ((height as i32 - 2 * row as i32 - 1) as f32).mul_add(0.5 * step, -0.2);
    (Vector([0.0, 1.5, -6.0]), Vector([across, up, 2.0]).unit())
}

/// The colour that is seen along a ray. The order of operations is the kernel's, and all products that are added to
/// are rounded once, so that the device's colours are the same to the bit.
fn trace(spheres: &[Sphere], depth: usize, (mut from, mut ray): (Vector, Vector)) -> u32 {
    let white = Vector([1.0; 3]);
    let mut seen = Vector([0.0; 3]);
    let mut weight = 1.0;
    for _ in 0..=depth {
        let (mut nearest, mut hit) = (FAR, None);
        for sphere in spheres {
            let distance = sphere.distance_to(from, ray);
            if distance < nearest {
                (nearest, hit) = (distance, Some(sphere));
            }
        }
        if ray.0[1] < 0.0 {
            let distance = from.0[1] / -ray.0[1];
            if distance < nearest {
                (nearest, hit) = (distance, None);
            }
        }
        if nearest >= FAR {
            let bright = weight * 0.5f32.mul_add(ray.0[1].max(0.0), 0.3);
            seen = Vector([0.6, 0.8, 1.0]).along(bright, seen);
            break;
        }
        let place = ray.along(nearest, from);
        let (normal, colour, mirror) = match hit {
            Some(sphere) => (place.minus(sphere.centre).unit(), sphere.colour, sphere.mirror),
            None => {
                let dark = ((place.0[0].floor() as i32).wrapping_add(place.0[2].floor() as i32)) & 1 != 0;
                (Vector([0.0, 1.0, 0.0]), Vector([if dark { 0.1 } else { 0.9 }; 3]), 0.2)
            }
        };
        let start = normal.along(OFFSET, place);
        let to_light = LIGHT.minus(start).unit();
        let facing = normal.dot(to_light);
        let (mut bright, mut shine) = (0.15, 0.0f32);
        if facing > 0.0 && spheres.iter().all(|sphere| sphere.distance_to(start, to_light) >= FAR) {
            bright = 0.85f32.mul_add(facing, bright);
            shine = normal.along(-2.0 * facing, to_light).dot(ray).max(0.0);
            for _ in 0..5 {
                shine *= shine;
            }
        }
        let own = weight * (1.0 - mirror);
        seen = colour.along(own * bright, seen);
        seen = white.along(0.5 * weight * shine, seen);
        weight *= mirror;
        if weight < 0.02 {
            break;
        }
        ray = normal.along(-2.0 * ray.dot(normal), ray).unit();
        from = start;
    }
    let [red, green, blue] = seen.0.map(|part| part.min(1.0).mul_add(255.0, 0.5) as u32);
    red | green << 8 | blue << 16 | 0xff00_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(mirror: f32) -> Sphere {
        Sphere { centre: Vector([0.0, 1.5, 0.0]), radius: 1.0, colour: Vector([1.0, 0.0, 0.0]), mirror }
    }

    const AHEAD: (Vector, Vector) = (Vector([0.0, 1.5, -6.0]), Vector([0.0, 0.0, 1.0]));

    #[test]
    fn rays_meet_spheres_from_outside() {
        let (from, ray) = AHEAD;
        assert_eq!(ball(0.0).distance_to(from, ray), 5.0);
        assert_eq!(ball(0.0).distance_to(from, Vector([0.0, 0.0, -1.0])), FAR);
        assert_eq!(ball(0.0).distance_to(Vector([0.0, 1.5, 0.0]), ray), FAR);
    }

    #[test]
    fn mirrors_show_what_is_before_them() {
        let level = |spheres: &[Sphere], depth| trace(spheres, depth, AHEAD) & 0x00ff_ffff;
        // The sky alone: level rays see 0.3 of its colour.
        assert_eq!(level(&[], 0), (0.3f32 * 0.6).mul_add(255.0, 0.5) as u32 | 61 << 8 | 77 << 16);
        // The ball is red but for its light spot; as a mirror it reflects the sky, which is bluer than red.
        let red = level(&[ball(0.0)], 4);
        assert!(red & 0xff > red >> 8 & 0xff);
        let sky = level(&[ball(1.0)], 4);
        assert!(sky >> 16 > sky & 0xff, "{sky:06x}");
    }
}
