//! The system call filter of the sandbox, tried from inside: each call must be refused.

use std::process::Command;

use super::{Repository, report, sandbox};
use crate::support::{Home, put};

/// Tries calls by their x86_64 numbers and prints those that are not refused with EPERM. With an
/// argument it first puts the filter in that file on itself.
const PROBE: &str = r#"use strict; use Errno qw(EPERM);
if (my $file = shift) {
    open(my $in, '<:raw', $file) or die; local $/; my $program = <$in>;
    my $descriptor = pack('S x!8 P', length($program) / 8, $program);
    syscall(157, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
    syscall(317, 1, 0, $descriptor) == 0 or die "seccomp: $!";
}
my $path = "/no/such/place\0";
my @refused = (
    ['unshare', 272, 0], ['setns', 308, 0, 0], ['clone', 56, 0x10000000 | 17, 0, 0, 0, 0],
    ['vsock', 41, 40, 1, 0], ['bluetooth', 41, 31, 3, 0], ['packet', 41, 17, 3, 0], ['alg', 41, 38, 5, 0],
    ['ptrace', 101, 0, 0, 0, 0], ['keyctl', 250, 0, 0, 0, 0, 0], ['add_key', 248, 0, 0, 0, 0, 0], ['request_key', 249, 0, 0, 0, 0],
    ['bpf', 321, 0, 0, 0], ['perf_event_open', 298, 0, 0, 0, 0, 0], ['userfaultfd', 323, 0], ['io_uring_setup', 425, 1, 0],
    ['mount', 165, $path, $path, $path, 0, 0], ['umount2', 166, $path, 0], ['kexec_load', 246, 0, 0, 0, 0],
    ['init_module', 175, 0, 0, $path], ['finit_module', 313, 0, $path, 0], ['open_by_handle_at', 304, 0, 0, 0],
);
my $escaped = 0;
for my $call (@refused) {
    my ($name, @arguments) = @$call;
    $! = 0;
    my $result = syscall($arguments[0], @arguments[1 .. $#arguments]);
    exit 0 if $name eq 'clone' && $result == 0;
    next if $result == -1 && $! == EPERM;
    print STDERR "$name: $result $!\n"; $escaped = 1;
}
# What a build needs still works.
defined(my $child = fork()) or die "fork: $!"; exit 0 unless $child; waitpid($child, 0);
for my $family (1, 2, 10, 16) {
    my $socket = syscall(41, $family, $family == 16 ? 3 : 1, 0);
    # A machine without IPv6 has no such sockets at all.
    if ($socket < 0 && $! == EPERM) { print STDERR "socket $family: $!\n"; $escaped = 1; }
}
exit $escaped;
"#;

fn perl() -> bool {
    let there = cfg!(all(target_os = "linux", target_arch = "x86_64"))
        && Command::new("perl")
            .args(["-MErrno", "-e", "1"])
            .status()
            .is_ok_and(|status| status.success());
    if !there {
        eprintln!("skipped: this needs Linux on x86_64, and perl");
    }
    there
}

#[test]
fn the_filter_refuses_what_no_build_needs() {
    if !perl() {
        return;
    }
    let home = Home::new();
    let (script, filter) = (home.dir.path().join("probe.pl"), home.dir.path().join("filter.bpf"));
    put(&script, PROBE);
    put(&filter, notewell::oss::seccomp_filter().unwrap());
    let filtered = Command::new("perl").arg(&script).arg(&filter).output().unwrap();
    let said = String::from_utf8_lossy(&filtered.stderr);
    assert!(filtered.status.success(), "{said}");
    // Unsharing nothing succeeds without the filter, so refusing it means something.
    let free =
        Command::new("perl").args(["-e", "exit(syscall(272, 0) == 0 ? 0 : 1)"]).status().unwrap();
    assert!(free.success(), "the call is refused here anyway");
}

#[test]
fn sandboxed_builds_run_under_the_filter() {
    if !perl() || !sandbox() {
        return;
    }
    let home = Home::new();
    let prober = Repository::new(
        &home,
        "prober",
        &[("Makefile", "all:\n\tperl probe.pl\n"), ("probe.pl", PROBE)],
    );
    let found = report(&home, &prober);
    assert_eq!(found["buildResult"], "BUILD_SUCCESS", "{}", found["facts"]);
}
