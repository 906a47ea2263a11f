/**
 * The system calls that a sandbox blocks, with reasons. Each call is listed with its number on x86-64 and, if arm64 has
 * the call, on arm64.
 */

/** `EPERM`: not permitted. `ENOSYS`: the kernel seems to lack the call, so programs fall back to another call. */
type Refusal = "EPERM" | "ENOSYS";

interface RefusedGroup {
  readonly reason: string;
  readonly answer: Refusal;
  readonly calls: Readonly<Record<string, readonly [x64: number, arm64?: number]>>;
}

export const refusedGroups: readonly RefusedGroup[] = [
  {
    reason: "Create or enter a namespace, which gives a process rights that it lacks outside.",
    answer: "EPERM",
    calls: { unshare: [272, 97], setns: [308, 268] },
  },
  {
    reason: "Reads its flags from memory, which a filter cannot read. The C library falls back to `clone`.",
    answer: "ENOSYS",
    calls: { clone3: [435, 435] },
  },
  {
    reason: "Mount file systems, including control groups, or change the root.",
    answer: "EPERM",
    calls: {
      mount: [165, 40],
      umount2: [166, 39],
      pivot_root: [155, 41],
      chroot: [161, 51],
      open_tree: [428, 428],
      move_mount: [429, 429],
      fsopen: [430, 430],
      fsconfig: [431, 431],
      fsmount: [432, 432],
      fspick: [433, 433],
      mount_setattr: [442, 442],
      open_tree_attr: [467, 467],
    },
  },
  {
    reason: "Open files by handle, which bypasses the permissions of their folders.",
    answer: "EPERM",
    calls: { open_by_handle_at: [304, 265], name_to_handle_at: [303, 264] },
  },
  {
    reason: "Use kernel keyrings, which services of one user share.",
    answer: "EPERM",
    calls: { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] },
  },
  {
    reason: "Load programs into the kernel, or observe other processes on the machine.",
    answer: "EPERM",
    calls: { bpf: [321, 280], perf_event_open: [298, 241], fanotify_init: [300, 262] },
  },
  {
    reason: "Lets a process pause the kernel in the middle of a memory copy, a common technique in kernel exploits.",
    answer: "ENOSYS",
    calls: { userfaultfd: [323, 282] },
  },
  {
    reason:
      "Run other calls without the filter, and have had many vulnerabilities. Programs fall back to ordinary calls.",
    answer: "ENOSYS",
    calls: { io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  },
  {
    reason: "Read or change other processes. To debug a service, run it outside the sandbox.",
    answer: "EPERM",
    calls: {
      ptrace: [101, 117],
      process_vm_readv: [310, 270],
      process_vm_writev: [311, 271],
      pidfd_getfd: [438, 438],
      kcmp: [312, 272],
      migrate_pages: [256, 238],
      move_pages: [279, 239],
    },
  },
  {
    reason: "Allocates memory that does not count as memory of the process.",
    answer: "ENOSYS",
    calls: { memfd_secret: [447, 447] },
  },
  {
    reason: "Administer the machine, such as its kernel modules, swap, quotas, accounting and power.",
    answer: "EPERM",
    calls: {
      init_module: [175, 105],
      finit_module: [313, 273],
      delete_module: [176, 106],
      kexec_load: [246, 104],
      kexec_file_load: [320, 294],
      swapon: [167, 224],
      swapoff: [168, 225],
      quotactl: [179, 60],
      quotactl_fd: [443, 443],
      acct: [163, 89],
      reboot: [169, 142],
      syslog: [103, 116],
      vhangup: [153, 58],
      sethostname: [170, 161],
      setdomainname: [171, 162],
    },
  },
  {
    reason: "Set the machine's clock.",
    answer: "EPERM",
    calls: {
      settimeofday: [164, 170],
      clock_settime: [227, 112],
      clock_adjtime: [305, 266],
      adjtimex: [159, 171],
    },
  },
  {
    reason: "Access hardware, or change the processor's descriptor tables.",
    answer: "EPERM",
    calls: { iopl: [172], ioperm: [173], modify_ldt: [154] },
  },
  {
    reason: "Obsolete. Current programs do not use these calls, and the kernel's code for them is rarely tested.",
    answer: "ENOSYS",
    calls: {
      lookup_dcookie: [212, 18],
      nfsservctl: [180, 42],
      uselib: [134],
      ustat: [136],
      sysfs: [139],
      _sysctl: [156],
      create_module: [174],
      get_kernel_syms: [177],
      query_module: [178],
      getpmsg: [181],
      putpmsg: [182],
      afs_syscall: [183],
      tuxcall: [184],
      security: [185],
      vserver: [236],
      epoll_ctl_old: [214],
      epoll_wait_old: [215],
    },
  },
];

/** Blocked only without control groups. Portside then measures memory from `/proc`. */
export const uncountedMemory: RefusedGroup = {
  reason: "Allocate memory that belongs to no process, so Portside cannot count it without control groups.",
  answer: "ENOSYS",
  calls: { memfd_create: [319, 279], shmget: [29, 194], msgget: [68, 186], semget: [64, 190] },
};

interface RefusedArgument {
  readonly call: string;
  readonly number: readonly [x64: number, arm64: number];
  /** The index of the argument to compare. The filter compares only its lower 32 bits. */
  readonly argument: number;
  readonly reason: string;
  /**
   * Blocks arguments that have one of these bits (`hasBit`), equal one of these values (`is`) or equal none of these
   * values (`isNot`).
   */
  readonly when:
    | { readonly hasBit: number }
    | { readonly is: readonly number[] }
    | { readonly isNot: readonly number[] };
  readonly answer: Refusal | "EAFNOSUPPORT";
}

/** The CLONE_NEW* flags that `clone` accepts (sched.h). */
const NAMESPACE_FLAGS = 0x7e02_0000;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const FAMILIES = [1, 2, 10, 16];

export const refusedArguments: readonly RefusedArgument[] = [
  {
    call: "clone",
    number: [56, 220],
    argument: 0,
    reason: "Blocked only with a `CLONE_NEW…` flag, which creates a namespace.",
    when: { hasBit: NAMESPACE_FLAGS },
    answer: "EPERM",
  },
  {
    call: "ioctl",
    number: [16, 29],
    argument: 1,
    reason:
      "Blocked only for `TIOCSTI` and `TIOCLINUX`, which inject input into a terminal, and `TIOCSETD`, which loads a line discipline.",
    when: { is: [0x5412, 0x541c, 0x5423] },
    answer: "EPERM",
  },
  {
    call: "socket",
    number: [41, 198],
    argument: 0,
    reason:
      "Allowed only for `AF_UNIX`, `AF_INET`, `AF_INET6` and `AF_NETLINK`. Other sockets, such as `AF_VSOCK`, can bypass network namespaces.",
    when: { isNot: FAMILIES },
    answer: "EAFNOSUPPORT",
  },
  {
    call: "socketpair",
    number: [53, 199],
    argument: 0,
    reason: "The same as for `socket`.",
    when: { isNot: FAMILIES },
    answer: "EAFNOSUPPORT",
  },
];
