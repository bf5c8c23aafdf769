//! The operations of machine code, by family.

macro_rules! ops {
    ($($(#[$doc:meta])* $family:ident $members:ident { $($variant:ident $name:literal,)* })*) => {
        /// An operation: the mnemonic without its modifiers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SassOp {
            $($(#[doc = concat!("`", $name, "`")] $variant,)*)*
        }

        /// An operation within its family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family {
            $($(#[$doc])* $family($members),)*
        }

        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $members {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        })*

        impl SassOp {
            /// All operations, in the order of this list.
            pub const ALL: &[SassOp] = &[$($(SassOp::$variant,)*)*];

            /// The mnemonic.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(SassOp::$variant => $name,)*)*
                }
            }

            /// The operation within its family.
            pub const fn family(self) -> Family {
                match self {
                    $($(SassOp::$variant => Family::$family($members::$variant),)*)*
                }
            }
        }
    };
}

ops! {
    /// Integers, also in uniform registers.
    Integer IntegerOp {
        IAdd3 "IADD3", UIAdd3 "UIADD3", UIAdd364 "UIADD3.64", VIAdd "VIADD", Lea "LEA", ULea "ULEA", IMad "IMAD",
        UIMad "UIMAD", IMadWide "IMAD.WIDE", UIMadWide "UIMAD.WIDE", IMadHi "IMAD.HI", UIMadHi "UIMAD.HI",
        Idp "IDP.4A", Idp2 "IDP.2A", ISetP "ISETP", UISetP "UISETP", IMnMx "IMNMX", VIMnMx "VIMNMX",
        VIMnMx3 "VIMNMX3", VIAddMnMx "VIADDMNMX", IAbs "IABS", PopC "POPC", UPopC "UPOPC", Brev "BREV", UBrev "UBREV",
        Shf "SHF", USHf "USHF", Sgxt "SGXT", USgxt "USGXT", BMsk "BMSK", UBMsk "UBMSK", Flo "FLO", UFlo "UFLO",
        VAbsDiff "VABSDIFF", VAbsDiff4 "VABSDIFF4", I2I "I2I",
    }

    /// Moves, selection and logic of registers and predicates.
    Move MoveOp {
        Mov "MOV", UMov "UMOV", Sel "SEL", USel "USEL", Lop3 "LOP3.LUT", ULop3 "ULOP3.LUT", PLop3 "PLOP3.LUT",
        UPLop3 "UPLOP3.LUT", PLop3Sign "PLOP3.LUT", UPLop3Sign "UPLOP3.LUT", Prmt "PRMT", UPrmt "UPRMT", P2R "P2R",
        UP2Ur "UP2UR", R2P "R2P", UR2Up "UR2UP", S2R "S2R", Cs2R "CS2R", S2Ur "S2UR", ULdC "ULDC",
    }

    /// Memory, atomics and the copy engine.
    Memory MemoryOp {
        LdG "LDG", LdS "LDS", LdL "LDL", Ld "LD", StG "STG", StS "STS", StL "STL", St "ST", LdC "LDC", AtomG "ATOMG",
        AtomGCas "ATOMG", Atom "ATOM", AtomCas "ATOM", Red "RED", RedG "REDG", AtomS "ATOMS", AtomSCas "ATOMS",
        AtomSPopcInc "ATOMS.POPC.INC", ArriveS "ARRIVES.LDGSTSBAR.64", AtomSArrive "ATOMS.ARRIVE.64", LdGSts "LDGSTS",
        StAs "STAS", RedAs "REDAS", SyncsExch "SYNCS.EXCH.64", SyncsArrive "SYNCS.ARRIVE.TRANS64",
        SyncsPhaseChk "SYNCS.PHASECHK.TRANS64", UBlkCp "UBLKCP", UBlkRed "UBLKRED", UBlkPf "UBLKPF",
        UTmaLdG "UTMALDG", UTmaStG "UTMASTG", UTmaRedG "UTMAREDG", UTmaPf "UTMAPF", UTmaCctl "UTMACCTL", QSpc "QSPC",
    }

    /// Floating point of 32 and 64 bits.
    Float FloatOp {
        FAdd "FADD", FMul "FMUL", FFma "FFMA", FMnMx "FMNMX", FSel "FSEL", FSet "FSET.BF", FSetP "FSETP", FChk "FCHK",
        MuFu "MUFU", DAdd "DADD", DMul "DMUL", DFma "DFMA", DSetP "DSETP",
    }

    /// Control flow, barriers and waits.
    Control ControlOp {
        Bra "BRA", Call "CALL", Brx "BRX", BrxU "BRXU", Ret "RET", Lepc "LEPC", Exit "EXIT", Kill "KILL", BSsy "BSSY",
        BSync "BSYNC", Break "BREAK", BMov "BMOV.32", BMovToBarrier "BMOV.32", Yield "YIELD", WarpSync "WARPSYNC",
        WarpSyncAll "WARPSYNC", EndCollective "ENDCOLLECTIVE", Bar "BAR", B2R "B2R.RESULT", UCgaBarArv "UCGABAR_ARV",
        UCgaBarWait "UCGABAR_WAIT", USetMaxReg "USETMAXREG", MemBar "MEMBAR", LdGDepBar "LDGDEPBAR",
        UTmaCmdFlush "UTMACMDFLUSH", DepBar "DEPBAR", NanoSleep "NANOSLEEP", Bpt "BPT", AcqBulk "ACQBULK",
        PreExit "PREEXIT", FenceViewAsync "FENCE.VIEW.ASYNC", WarpGroup "WARPGROUP", Nop "NOP", PmTrig "PMTRIG",
        Cctl "CCTL", SyncsCctl "SYNCS.CCTL.IV", ErrBar "ERRBAR", CgaErrBar "CGAERRBAR",
    }

    /// Values of several lanes.
    Warp WarpOp {
        Shfl "SHFL", Vote "VOTE", VoteU "VOTEU", Match "MATCH", Redux "REDUX", Elect "ELECT", R2Ur "R2UR",
    }

    /// Conversions.
    Convert ConvertOp {
        F2F "F2F", FRnd "FRND", F2I "F2I", I2F "I2F", I2Fp "I2FP", F2Fp "F2FP", F2FpMerge "F2FP", F2FpBytes "F2FP",
        F2FpBytesOfHalves "F2FP", F2FpHalves "F2FP", I2Ip "I2IP", F2Ip "F2IP",
    }

    /// Half precision, two values in a register.
    Half HalfOp {
        HAdd2 "HADD2", HAdd2Bf16 "HADD2.BF16_V2", HMul2 "HMUL2", HMul2Bf16 "HMUL2.BF16_V2", HFma2 "HFMA2",
        HFma2Mma "HFMA2.MMA", HFma2Bf16 "HFMA2.BF16_V2", HFma2MmaBf16 "HFMA2.MMA.BF16_V2", HMnMx2 "HMNMX2",
        HMnMx2Bf16 "HMNMX2.BF16_V2", HSet2 "HSET2", HSet2Bf16 "HSET2.BF16_V2", HSetP2 "HSETP2",
        HSetP2Bf16 "HSETP2.BF16_V2", VHMnMx "VHMNMX",
    }

    /// Matrices.
    Matrix MatrixOp {
        HMma "HMMA", HMmaStep "HMMA", IMma "IMMA", BMma "BMMA", QMma "QMMA", DMma "DMMA", HGmma "HGMMA",
        QGmma "QGMMA", IGmma "IGMMA", BGmma "BGMMA", LdSm "LDSM", StSm "STSM", MovM "MOVM",
    }

    /// Textures and surfaces.
    Texture TextureOp {
        Tex "TEX", Tld "TLD", Tld4 "TLD4", Txq "TXQ", SuLd "SULD.D", SuSt "SUST.D",
    }
}
