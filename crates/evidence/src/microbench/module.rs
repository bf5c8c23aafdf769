//! The frame of a microbenchmark's module of PTX.

/// A module of PTX.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name, also of the cubin.
    pub name: String,
    /// Lowest sm_XX that it runs on.
    pub lowest_sm: u32,
    /// The module's text.
    pub ptx: String,
    /// Lines in the loops of the entries `short` and `long`; no lines where `bench` is the only entry.
    pub lines: Option<(usize, usize)>,
    /// Opcodes of machine code that one line becomes, or the whole loop of `bench`.
    pub opcodes: Vec<&'static str>,
}

/// The version and target of a module that runs from `lowest_sm` on.
pub(super) fn header(lowest_sm: u32) -> String {
    let (version, target) = match lowest_sm {
        ..60 => ("3.2", "20"),
        60..75 => ("6.4", "70"),
        75..80 => ("6.5", "75"),
        80..90 => ("7.0", "80"),
        _ => ("8.4", "90a"),
    };
    format!(".version {version}\n.target sm_{target}\n.address_size 64\n")
}

/// Registers of every entry, and its parameters in `%p1` (data) and `%r0` (trips); `%a0` to `%a2`
/// are the other three. `attributes` are directives about its launch.
pub(super) fn entry(name: &str, attributes: &str, setup: &str, body: &str, end: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 data, .param .u32 trips, .param .u32 a, .param .u32 b, .param .u32 c)\n{attributes}{{\n\
         .reg .b32 %r<80>;\n.reg .f32 %f<80>;\n.reg .f64 %d<80>;\n.reg .b64 %l<80>;\n.reg .b16 %h<80>;\n.reg .pred %q<80>;\n\
         .reg .b32 %a<16>;\n.reg .b32 %i<16>;\n.reg .f32 %x<4>;\n.reg .f64 %y<2>;\n.reg .pred %t<3>;\n.reg .b64 %p<16>;\n\
         .shared .align 16 .b8 scratch[16384];\n\
         ld.param.u64 %p1, [data];\nld.param.u32 %a3, [trips];\nld.param.u32 %a0, [a];\nld.param.u32 %a1, [b];\nld.param.u32 %a2, [c];\n\
         mov.u32 %a4, %tid.x;\nmov.u32 %a5, %ctaid.x;\n{setup}\n\
         LOOP:\n.pragma \"nounroll\";\nsub.s32 %a3, %a3, 1;\nsetp.ne.s32 %t2, %a3, 0;\n{body}\n@%t2 bra LOOP;\n{end}\nret;\n}}\n"
    )
}

/// The lines that `line` makes of 0 to `lines` - 1.
pub(super) fn repeated(lines: usize, line: impl Fn(usize) -> String) -> String {
    (0..lines).map(|i| line(i) + "\n").collect()
}
