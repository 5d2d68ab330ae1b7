//! AMX int8 tiles: one instruction multiplies a 16×64 tile of activations with a 64×16 tile of
//! weights. The float operations are those of AVX-512, which every processor with AMX has.
//!
//! The packed [`Block`](super::Block)s are already in the order that a tile of weights wants:
//! sixteen neighbouring blocks of one group are 64 inputs of 16 outputs.
//!
//! Rust has no stable intrinsics for AMX, so the tile instructions are inline assembly.

use std::arch::{
    asm,
    x86_64::{
        __cpuid_count, __m512, _mm512_cvtepi32_ps, _mm512_fmadd_ps, _mm512_load_si512,
        _mm512_loadu_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_storeu_ps,
    },
};
use std::sync::LazyLock;

use super::{COLUMNS, DEPTH, Linear, Ops, Pass, Rows, attention, check, vnni::Vnni};
use crate::math::Heads;

/// Rows of one tile.
const TALL: usize = 16;
/// Input values of one tile.
const WIDE: usize = 64;
/// With fewer rows most of a tile would be idle, and the VNNI kernel is faster.
const MIN_ROWS: usize = 6;
/// Shorter sequences are faster without tiles.
const MIN_TOKENS: usize = 16;

/// Proof that the processor has AMX int8 tiles, that the system lets this process use them, and
/// that AVX-512 is there as well.
#[derive(Clone, Copy)]
pub struct Amx {
    vector: Vnni,
    /// Whether there are bf16 tiles too.
    bf16: bool,
}

impl Amx {
    /// Asks the processor, then the system: Linux grants the tile registers on request only.
    pub fn detect() -> Option<Self> {
        static GRANTED: LazyLock<bool> =
            LazyLock::new(|| has(AMX_TILE | AMX_INT8) && request_tiles());
        let bf16 = has(AMX_TILE | AMX_BF16);
        Vnni::detect().filter(|_| *GRANTED).map(|vector| Self { vector, bf16 })
    }

    /// Runs the pass with AVX-512 compiled in; tiles are used inside [`Ops::linear`].
    pub fn run<P: Pass>(self, pass: P) -> P::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
        fn inside<P: Pass>(ops: Amx, pass: P) -> P::Output {
            pass.run(ops)
        }
        // SAFETY: `self` exists, so `detect` found these features.
        unsafe { inside(self, pass) }
    }
}

/// Bits of EDX of CPUID leaf 7.
const AMX_BF16: u32 = 1 << 22;
const AMX_TILE: u32 = 1 << 24;
const AMX_INT8: u32 = 1 << 25;

/// Whether the processor has all of these features.
fn has(features: u32) -> bool {
    __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).edx & features == features
}

/// Requests permission for the tile data registers from Linux, for the whole process.
#[cfg(target_os = "linux")]
fn request_tiles() -> bool {
    const ARCH_REQ_XCOMP_PERM: i32 = 0x1023;
    const XFEATURE_XTILEDATA: i32 = 18;
    // SAFETY: the call takes two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// Other systems have other ways to ask, none of which could be tested.
#[cfg(not(target_os = "linux"))]
fn request_tiles() -> bool {
    false
}

/// Delegates an operation to the AVX-512 kernel.
macro_rules! delegate {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $out:ty;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: $kind),*) -> $out {
                self.vector.$name($($arg),*)
            }
        )*
    };
}

impl Ops for Amx {
    const LANES: usize = Vnni::LANES;
    type F = __m512;

    delegate! {
        splat(value: f32) -> __m512;
        load(from: &[f32]) -> __m512;
        store(value: __m512, to: &mut [f32]) -> ();
        add(a: __m512, b: __m512) -> __m512;
        sub(a: __m512, b: __m512) -> __m512;
        mul(a: __m512, b: __m512) -> __m512;
        div(a: __m512, b: __m512) -> __m512;
        min(a: __m512, b: __m512) -> __m512;
        max(a: __m512, b: __m512) -> __m512;
        fma(a: __m512, b: __m512, c: __m512) -> __m512;
        power(whole: __m512) -> __m512;
        round(value: __m512) -> __m512;
        sum(value: __m512) -> f32;
        lowest(value: __m512) -> f32;
        highest(value: __m512) -> f32;
        bytes(value: __m512, to: &mut [u8]) -> ();
    }

    fn linear(self, rows: &Rows, linear: &Linear, out: &mut [f32]) {
        let fits = linear.inputs.is_multiple_of(WIDE) && linear.outputs.is_multiple_of(2 * COLUMNS);
        if rows.count() < MIN_ROWS || !fits {
            return self.vector.linear(rows, linear, out);
        }
        check(rows, linear, out);
        // SAFETY: `self` proves the features and the permission, `check` the lengths, and the
        // shapes were just tested.
        unsafe { tiles(rows, linear, out) }
    }

    #[inline(always)]
    fn attend(self, qkv: &[f32], out: &mut [f32], hidden: usize, heads: &mut Heads) {
        if !self.bf16 || out.len() < MIN_TOKENS * hidden {
            return self.vector.attend(qkv, out, hidden, heads);
        }
        // SAFETY: `self` proves the features and the permission.
        unsafe { attention::attend(self.vector, qkv, out, hidden, heads) }
    }
}

/// The 64 bytes that LDTILECFG reads: palette 1, then bytes per row and rows of each tile.
#[repr(C, align(64))]
pub(super) struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl TileConfig {
    /// Eight tiles of 16 rows of 64 bytes.
    pub(super) fn full() -> Self {
        Self::new(TALL, TALL)
    }

    /// Sums in tiles 0 to 3, activations in 4 and 5, weights in 6 and 7. The second tile of
    /// activations has `second` rows, the first always `first`.
    fn new(first: usize, second: usize) -> Self {
        let mut config =
            Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        let rows = [first, first, second, second, first, second, TALL, TALL];
        for (tile, rows) in rows.into_iter().enumerate() {
            config.row_bytes[tile] = WIDE as u16;
            config.rows[tile] = rows.max(1) as u8;
        }
        config
    }
}

/// The sums of one tile, as TILESTORED leaves them.
#[repr(align(64))]
struct Sums([i32; TALL * COLUMNS]);

/// Computes the layer in blocks of 32 rows and 32 columns: two tiles by two.
///
/// # Safety
/// The process may use AMX, `check` holds, `inputs` is a multiple of 64 and `outputs` of 32.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn tiles(rows: &Rows, linear: &Linear, out: &mut [f32]) {
    let count = rows.count();
    let mut sums = [const { Sums([0; TALL * COLUMNS]) }; 4];
    // Whole blocks first, then the rest with smaller tiles, so that there are two configurations.
    let whole = count - count % (2 * TALL);
    for (from, to) in [(0, whole), (whole, count)] {
        if from == to {
            continue;
        }
        let first = (to - from).min(TALL);
        let second = (to - from - first).min(TALL);
        let config = TileConfig::new(first, second);
        // SAFETY: `config` is 64 bytes that the instruction reads.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) };
        // The weights of two groups stay in the first-level cache while all rows pass by.
        for group in (0..linear.outputs / COLUMNS).step_by(2) {
            for row in (from..to).step_by(2 * TALL) {
                // SAFETY: `first` rows from `row` and `second` after them exist, and so do two
                // groups.
                unsafe {
                    multiply(rows, linear, row, second > 0, group, &mut sums);
                    finish(rows, linear, row..row + first, group, &sums[..2], out);
                    finish(rows, linear, row + first..row + first + second, group, &sums[2..], out);
                }
            }
        }
    }
    // SAFETY: it only gives the tile registers back.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// Fills `sums` with the products of one or two tiles of rows with two groups of columns.
///
/// # Safety
/// As for `tiles`; the configured rows exist from `row` on, and `group` and `group + 1` exist.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn multiply(
    rows: &Rows,
    linear: &Linear,
    row: usize,
    two: bool,
    group: usize,
    sums: &mut [Sums; 4],
) {
    let deep = linear.inputs / DEPTH;
    let steps = linear.inputs / WIDE;
    // SAFETY: by `check` every group has `deep` blocks and every row `inputs` bytes; a step reads 64
    // bytes of each configured row and 16 blocks of each group. The sums are 1,024 bytes each.
    unsafe {
        let weights = linear.blocks.as_ptr().add(group * deep).cast::<u8>();
        let bytes = rows.bytes.as_ptr().add(row * linear.inputs);
        if two {
            asm!(
                "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                "2:",
                "tileloadd tmm4, [{a} + {pitch}]",
                "tileloadd tmm6, [{w} + {line}]",
                "tileloadd tmm5, [{b} + {pitch}]",
                "tileloadd tmm7, [{v} + {line}]",
                "tdpbusd tmm0, tmm4, tmm6",
                "tdpbusd tmm1, tmm4, tmm7",
                "tdpbusd tmm2, tmm5, tmm6",
                "tdpbusd tmm3, tmm5, tmm7",
                "add {a}, 64", "add {b}, 64", "add {w}, 1024", "add {v}, 1024",
                "dec {steps}", "jnz 2b",
                "tilestored [{sums} + {line}], tmm0",
                "add {sums}, 1024",
                "tilestored [{sums} + {line}], tmm1",
                "add {sums}, 1024",
                "tilestored [{sums} + {line}], tmm2",
                "add {sums}, 1024",
                "tilestored [{sums} + {line}], tmm3",
                a = inout(reg) bytes => _,
                b = inout(reg) bytes.add(TALL * linear.inputs) => _,
                w = inout(reg) weights => _,
                v = inout(reg) weights.add(deep * COLUMNS * DEPTH) => _,
                pitch = in(reg) linear.inputs,
                line = in(reg) WIDE,
                steps = inout(reg) steps => _,
                sums = inout(reg) sums.as_mut_ptr() => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        } else {
            asm!(
                "tilezero tmm0", "tilezero tmm1",
                "2:",
                "tileloadd tmm4, [{a} + {pitch}]",
                "tileloadd tmm6, [{w} + {line}]",
                "tileloadd tmm7, [{v} + {line}]",
                "tdpbusd tmm0, tmm4, tmm6",
                "tdpbusd tmm1, tmm4, tmm7",
                "add {a}, 64", "add {w}, 1024", "add {v}, 1024",
                "dec {steps}", "jnz 2b",
                "tilestored [{sums} + {line}], tmm0",
                "add {sums}, 1024",
                "tilestored [{sums} + {line}], tmm1",
                a = inout(reg) bytes => _,
                w = inout(reg) weights => _,
                v = inout(reg) weights.add(deep * COLUMNS * DEPTH) => _,
                pitch = in(reg) linear.inputs,
                line = in(reg) WIDE,
                steps = inout(reg) steps => _,
                sums = inout(reg) sums.as_mut_ptr() => _,
                out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

/// Turns the integer sums of `which` rows and two groups into outputs: scale, offset, bias, and the
/// inputs that stay floats.
///
/// # Safety
/// `check` holds, the rows and groups exist, and `sums` holds their two tiles.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn finish(
    rows: &Rows,
    linear: &Linear,
    which: std::ops::Range<usize>,
    group: usize,
    sums: &[Sums],
    out: &mut [f32],
) {
    let loud = linear.loud.len();
    for (half, sums) in sums.iter().enumerate() {
        let at = (group + half) * COLUMNS;
        // SAFETY: the columns of this group and these rows exist, by the caller and `check`.
        unsafe {
            let scale = _mm512_loadu_ps(linear.scale.as_ptr().add(at));
            let sum = _mm512_loadu_ps(linear.sum.as_ptr().add(at));
            let bias = _mm512_loadu_ps(linear.bias.as_ptr().add(at));
            for (line, row) in which.clone().enumerate() {
                let low = _mm512_set1_ps(*rows.low.get_unchecked(row));
                let shift = _mm512_fmadd_ps(low, sum, bias);
                let scale = _mm512_mul_ps(_mm512_set1_ps(*rows.scale.get_unchecked(row)), scale);
                let total = _mm512_load_si512(sums.0.as_ptr().add(line * COLUMNS).cast());
                let mut value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(total), scale, shift);
                for l in 0..loud {
                    let x = *rows.loud.get_unchecked(row * loud + l);
                    let w = _mm512_loadu_ps(linear.columns.as_ptr().add(l * linear.outputs + at));
                    value = _mm512_fmadd_ps(_mm512_set1_ps(x), w, value);
                }
                _mm512_storeu_ps(out.as_mut_ptr().add(row * linear.outputs + at), value);
            }
        }
    }
}
