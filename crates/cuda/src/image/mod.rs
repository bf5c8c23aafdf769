//! Arrays, texture and surface objects, texture and surface references.

mod array;
mod objects;
mod reference;
mod texture;

pub use objects::{
    ALIGNMENT, Array, ArrayDescriptor, MOST_LINEAR, MOST_PITCHED, NORMALISED, PITCH_ALIGNMENT, READ_AS_INTEGER,
    Reference, Resource, Sampling, Texture, View, channel_of,
};
