//! The operations of machine code.

macro_rules! ops {
    ($($variant:ident $name:literal,)*) => {
        /// An operation: the mnemonic without its modifiers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SassOp {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl SassOp {
            /// All operations, in the order of this list.
        pub const ALL: &[SassOp] = &[$(SassOp::$variant,)*];

            /// The mnemonic.
            pub const fn name(self) -> &'static str {
                match self {
                    $(SassOp::$variant => $name,)*
                }
            }
        }
    };
}

ops! {
    AcqBulk "ACQBULK", Atom "ATOM", AtomG "ATOMG", AtomGCas "ATOMG", AtomCas "ATOM", AtomS "ATOMS", AtomSCas "ATOMS",
    AtomSPopcInc "ATOMS.POPC.INC", ArriveS "ARRIVES.LDGSTSBAR.64", AtomSArrive "ATOMS.ARRIVE.64",
    B2R "B2R.RESULT", BGmma "BGMMA", BMma "BMMA", Bpt "BPT", Bar "BAR", BMov "BMOV.32", BMovToBarrier "BMOV.32", BMsk "BMSK", Bra "BRA", Break "BREAK", Brev "BREV", Brx "BRX", BrxU "BRXU",
    BSsy "BSSY", BSync "BSYNC", Call "CALL", Cctl "CCTL", CgaErrBar "CGAERRBAR", Cs2R "CS2R",
    DAdd "DADD", DepBar "DEPBAR", DFma "DFMA", DMma "DMMA", DMul "DMUL", DSetP "DSETP", Elect "ELECT",
    EndCollective "ENDCOLLECTIVE", ErrBar "ERRBAR", Exit "EXIT",
    FenceViewAsync "FENCE.VIEW.ASYNC",
    F2F "F2F", F2Fp "F2FP", F2FpMerge "F2FP", F2FpBytes "F2FP", F2FpHalves "F2FP", F2FpBytesOfHalves "F2FP", F2I "F2I", F2Ip "F2IP", FAdd "FADD", FChk "FCHK", FFma "FFMA", Flo "FLO", FMnMx "FMNMX",
    FMul "FMUL", FRnd "FRND", FSel "FSEL", FSet "FSET.BF", FSetP "FSETP",
    HAdd2 "HADD2", HAdd2Bf16 "HADD2.BF16_V2", HMul2Bf16 "HMUL2.BF16_V2", HFma2Bf16 "HFMA2.BF16_V2", HMnMx2Bf16 "HMNMX2.BF16_V2", HFma2 "HFMA2", HFma2Mma "HFMA2.MMA", HGmma "HGMMA", HFma2MmaBf16 "HFMA2.MMA.BF16_V2", HMma "HMMA", HMmaStep "HMMA", HMnMx2 "HMNMX2", HMul2 "HMUL2", HSet2 "HSET2", HSet2Bf16 "HSET2.BF16_V2", HSetP2 "HSETP2", HSetP2Bf16 "HSETP2.BF16_V2",
    I2F "I2F", I2Fp "I2FP", I2I "I2I", I2Ip "I2IP", IAbs "IABS", IAdd3 "IADD3", Idp "IDP.4A", IGmma "IGMMA", Idp2 "IDP.2A", IMad "IMAD", IMadHi "IMAD.HI",
    IMadWide "IMAD.WIDE", IMma "IMMA", IMnMx "IMNMX", ISetP "ISETP",
    Kill "KILL",
    Ld "LD", LdC "LDC", LdG "LDG", LdGDepBar "LDGDEPBAR", LdGSts "LDGSTS", LdL "LDL", LdS "LDS", LdSm "LDSM",
    Lea "LEA", Lepc "LEPC", Lop3 "LOP3.LUT", Match "MATCH", MemBar "MEMBAR", Mov "MOV", MovM "MOVM", MuFu "MUFU",
    NanoSleep "NANOSLEEP", Nop "NOP", P2R "P2R", PLop3 "PLOP3.LUT", PLop3Sign "PLOP3.LUT", PmTrig "PMTRIG", PopC "POPC", PreExit "PREEXIT", Prmt "PRMT",
    QGmma "QGMMA", QMma "QMMA", QSpc "QSPC", R2P "R2P", R2Ur "R2UR", Red "RED", RedG "REDG", RedAs "REDAS", Redux "REDUX", Ret "RET", S2R "S2R", S2Ur "S2UR",
    Sel "SEL", Sgxt "SGXT", Shf "SHF", Shfl "SHFL", St "ST", StAs "STAS", StG "STG", StL "STL", StS "STS", StSm "STSM", SuLd "SULD.D", SuSt "SUST.D", Tex "TEX", Tld "TLD", Tld4 "TLD4", Txq "TXQ",
    UBMsk "UBMSK", UCgaBarArv "UCGABAR_ARV", UCgaBarWait "UCGABAR_WAIT", USetMaxReg "USETMAXREG", UBrev "UBREV", UFlo "UFLO", UIAdd3 "UIADD3", UIAdd364 "UIADD3.64", UIMad "UIMAD", UIMadHi "UIMAD.HI", UIMadWide "UIMAD.WIDE",
    UISetP "UISETP", ULdC "ULDC", ULea "ULEA", ULop3 "ULOP3.LUT", UMov "UMOV", UP2Ur "UP2UR", UPLop3 "UPLOP3.LUT", UPLop3Sign "UPLOP3.LUT", UPopC "UPOPC",
    UPrmt "UPRMT", UR2Up "UR2UP", USel "USEL", USgxt "USGXT", USHf "USHF", VAbsDiff "VABSDIFF", VAbsDiff4 "VABSDIFF4", VHMnMx "VHMNMX", VIAdd "VIADD", VIAddMnMx "VIADDMNMX", VIMnMx "VIMNMX", VIMnMx3 "VIMNMX3", Vote "VOTE", VoteU "VOTEU",
    SyncsArrive "SYNCS.ARRIVE.TRANS64", SyncsCctl "SYNCS.CCTL.IV", SyncsExch "SYNCS.EXCH.64", SyncsPhaseChk "SYNCS.PHASECHK.TRANS64",
    UBlkCp "UBLKCP", UBlkPf "UBLKPF", UBlkRed "UBLKRED", UTmaCctl "UTMACCTL", UTmaCmdFlush "UTMACMDFLUSH", UTmaLdG "UTMALDG",
    UTmaPf "UTMAPF", UTmaRedG "UTMAREDG", UTmaStG "UTMASTG",
    WarpGroup "WARPGROUP", WarpSync "WARPSYNC", WarpSyncAll "WARPSYNC", Yield "YIELD",
}
