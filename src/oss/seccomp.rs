//! The system calls that sandboxed code may not make, as a seccomp program for bubblewrap.
//!
//! Namespaces hide the machine; this filter makes the kernel behind them smaller. Calls that a build
//! never needs fail with `EPERM`: new namespaces, mounts, tracing, keyrings, BPF, performance
//! counters, `userfaultfd`, `io_uring`, modules, and sockets other than local, IP and netlink.
//! Everything else is allowed, so that no compiler breaks.
//!
//! The program is classic BPF, written by hand: eight bytes an instruction, checked by a small
//! interpreter in the tests.

/// A processor that the filter knows the call numbers of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    /// The processor of this build, if the filter knows it.
    pub fn this() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// `AUDIT_ARCH_…` of `linux/audit.h`.
    fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::Aarch64 => 0xc000_00b7,
        }
    }

    fn number(self, call: &Call) -> Option<u32> {
        match self {
            Self::X86_64 => call.x86_64,
            Self::Aarch64 => call.aarch64,
        }
    }
}

/// A system call and its numbers.
struct Call {
    x86_64: Option<u32>,
    aarch64: Option<u32>,
}

const fn call(x86_64: u32, aarch64: u32) -> Call {
    Call { x86_64: Some(x86_64), aarch64: Some(aarch64) }
}

const fn x86(number: u32) -> Call {
    Call { x86_64: Some(number), aarch64: None }
}

/// Calls that always fail. Numbers from 424 on are the same everywhere.
const DENIED: &[Call] = &[
    call(272, 97),  // unshare
    call(308, 268), // setns
    call(101, 117), // ptrace
    call(310, 270), // process_vm_readv
    call(311, 271), // process_vm_writev
    call(312, 272), // kcmp
    call(250, 219), // keyctl
    call(248, 217), // add_key
    call(249, 218), // request_key
    call(321, 280), // bpf
    call(298, 241), // perf_event_open
    call(323, 282), // userfaultfd
    call(425, 425), // io_uring_setup
    call(426, 426), // io_uring_enter
    call(427, 427), // io_uring_register
    call(165, 40),  // mount
    call(166, 39),  // umount2
    call(155, 41),  // pivot_root
    call(161, 51),  // chroot
    call(428, 428), // open_tree
    call(429, 429), // move_mount
    call(430, 430), // fsopen
    call(431, 431), // fsconfig
    call(432, 432), // fsmount
    call(433, 433), // fspick
    call(442, 442), // mount_setattr
    call(246, 104), // kexec_load
    call(320, 294), // kexec_file_load
    call(175, 105), // init_module
    call(313, 273), // finit_module
    call(176, 106), // delete_module
    call(169, 142), // reboot
    call(167, 224), // swapon
    call(168, 225), // swapoff
    call(163, 89),  // acct
    call(179, 60),  // quotactl
    call(103, 116), // syslog
    call(303, 264), // name_to_handle_at
    call(304, 265), // open_by_handle_at
    call(300, 262), // fanotify_init
    call(164, 170), // settimeofday
    call(227, 112), // clock_settime
    call(159, 171), // adjtimex
    call(305, 266), // clock_adjtime
    call(170, 161), // sethostname
    call(171, 162), // setdomainname
    x86(172),       // iopl
    x86(173),       // ioperm
    x86(154),       // modify_ldt
];

const CLONE: Call = call(56, 220);
const CLONE3: Call = call(435, 435);
const SOCKET: Call = call(41, 198);
const IOCTL: Call = call(16, 29);

/// `CLONE_NEW…` of `linux/sched.h`, all of them.
const NEW_NAMESPACES: u32 = 0x7e02_0080;
/// Local, IPv4, IPv6 and netlink.
const SOCKET_FAMILIES: &[u32] = &[1, 2, 10, 16];
/// Puts characters into the terminal as if somebody had typed them.
const TIOCSTI: u32 = 0x5412;
/// The bit of calls in the x32 form, which would slip through under other numbers.
const X32: u32 = 0x4000_0000;

const ALLOW: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO` with `EPERM`.
const REFUSE: u32 = 0x0005_0001;
/// `SECCOMP_RET_ERRNO` with `ENOSYS`: the C library then falls back to an older call.
const ABSENT: u32 = 0x0005_0026;
const KILL: u32 = 0x8000_0000;

// Offsets in `struct seccomp_data`. The low half of an argument comes first on both processors.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;

// Instructions: load a word; jump if equal, at least, any bit set; return.
const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// One instruction: what, how many to skip if true, if false, and its constant.
type Instruction = (u16, u8, u8, u32);

/// The filter for this machine in the form that `bwrap --seccomp` reads; None on other processors.
pub fn filter() -> Option<Vec<u8>> {
    Machine::this().map(|machine| encode(&program(machine)))
}

fn encode(program: &[Instruction]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for (code, if_true, if_false, constant) in program {
        bytes.extend(code.to_ne_bytes());
        bytes.extend([*if_true, *if_false]);
        bytes.extend(constant.to_ne_bytes());
    }
    bytes
}

fn program(machine: Machine) -> Vec<Instruction> {
    let mut program = vec![
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, machine.audit()),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ];
    if machine == Machine::X86_64 {
        program.extend([(JUMP_AT_LEAST, 0, 1, X32), (RETURN, 0, 0, REFUSE)]);
    }
    for number in DENIED.iter().filter_map(|call| machine.number(call)) {
        program.extend([(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]);
    }
    // A test of an argument ends in an answer, so the call's number is never needed again.
    let mut on = |call: &Call, steps: &[Instruction]| {
        if let Some(number) = machine.number(call) {
            program.push((JUMP_EQUAL, 0, steps.len() as u8, number));
            program.extend_from_slice(steps);
        }
    };
    on(&CLONE3, &[(RETURN, 0, 0, ABSENT)]);
    on(
        &CLONE,
        &[
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES),
            (RETURN, 0, 0, REFUSE),
            (RETURN, 0, 0, ALLOW),
        ],
    );
    let families = SOCKET_FAMILIES.len();
    let mut socket = vec![(LOAD, 0, 0, FIRST_ARGUMENT)];
    for (at, family) in SOCKET_FAMILIES.iter().enumerate() {
        socket.push((JUMP_EQUAL, (families - at) as u8, 0, *family));
    }
    socket.extend([(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]);
    on(&SOCKET, &socket);
    on(
        &IOCTL,
        &[
            (LOAD, 0, 0, SECOND_ARGUMENT),
            (JUMP_EQUAL, 0, 1, TIOCSTI),
            (RETURN, 0, 0, REFUSE),
            (RETURN, 0, 0, ALLOW),
        ],
    );
    program.push((RETURN, 0, 0, ALLOW));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program on one call, as the kernel does.
    fn run(program: &[Instruction], arch: u32, number: u32, arguments: [u32; 2]) -> u32 {
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let (code, if_true, if_false, constant) = program[at];
            at += 1;
            let jump = |test: bool| usize::from(if test { if_true } else { if_false });
            match code {
                LOAD => {
                    accumulator = match constant {
                        NUMBER => number,
                        ARCHITECTURE => arch,
                        FIRST_ARGUMENT => arguments[0],
                        SECOND_ARGUMENT => arguments[1],
                        other => panic!("offset {other}"),
                    };
                }
                JUMP_EQUAL => at += jump(accumulator == constant),
                JUMP_AT_LEAST => at += jump(accumulator >= constant),
                JUMP_ANY_BIT => at += jump(accumulator & constant != 0),
                RETURN => return constant,
                other => panic!("instruction {other}"),
            }
        }
    }

    #[test]
    fn both_machines_refuse_the_same() {
        for machine in [Machine::X86_64, Machine::Aarch64] {
            let program = program(machine);
            let ask = |call: &Call, first: u32, second: u32| {
                run(&program, machine.audit(), machine.number(call).unwrap(), [first, second])
            };
            for denied in DENIED.iter().filter(|call| machine.number(call).is_some()) {
                assert_eq!(ask(denied, 0, 0), REFUSE);
            }
            assert_eq!(ask(&CLONE3, 0, 0), ABSENT);
            // A thread and a fork are fine; a user or network namespace is not.
            assert_eq!(ask(&CLONE, 0x003d_0f00, 0), ALLOW);
            assert_eq!(ask(&CLONE, 17, 0), ALLOW);
            for namespace in [0x1000_0000, 0x4000_0000, 0x0002_0000, 0x0200_0000, 0x80] {
                assert_eq!(ask(&CLONE, 17 | namespace, 0), REFUSE, "{namespace:#x}");
            }
            for family in 0..50 {
                let expected = if SOCKET_FAMILIES.contains(&family) { ALLOW } else { REFUSE };
                assert_eq!(ask(&SOCKET, family, 0), expected, "family {family}");
            }
            assert_eq!(ask(&IOCTL, 0, TIOCSTI), REFUSE);
            assert_eq!(ask(&IOCTL, 0, 0x5401), ALLOW);
            assert_eq!(run(&program, machine.audit(), 63, [0, 0]), ALLOW);
            assert_eq!(run(&program, 0, 63, [0, 0]), KILL);
        }
        let program = program(Machine::X86_64);
        assert_eq!(run(&program, Machine::X86_64.audit(), X32 | 272, [0, 0]), REFUSE);
    }
}
