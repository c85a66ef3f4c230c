import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Disk, OpenHow } from "../../disk/disk.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { SimDisk } from "./sim-disk.ts";
import { readFully, writeFully } from "../../disk/write-fully.ts";
import { errnoOf } from "../../core/values/errors.ts";

/** The number of runs, each of up to forty steps. Some 30,000 runs with other seeds found no further difference. */
const RUNS = 200;
const SEED = 20_261;

/**
 * A process on one disk. It keeps its descriptors in a list, so that a position in the list means the same file on both
 * disks.
 */
interface Process {
  readonly disk: Disk;
  readonly folder: string;
  readonly open: number[];
}

/** One operation. Its result is compared as text. */
interface Step {
  readonly label: string;
  readonly act: (process: Process) => unknown;
}

const names = fc.constantFrom("a", "b", "c");
/** Paths that often exist: few names, some depth, links and dots in the middle, and sometimes a descriptor. */
const paths = fc.oneof(
  { weight: 4, arbitrary: names },
  { weight: 6, arbitrary: fc.tuple(names, names).map(([a, b]) => `${a}/${b}`) },
  { weight: 2, arbitrary: fc.tuple(names, names, names).map(([a, b, c]) => `${a}/${b}/${c}`) },
  { weight: 1, arbitrary: fc.tuple(names, names).map(([a, b]) => `${a}/../${b}`) },
  { weight: 1, arbitrary: names.map((a) => `${a}/`) },
  { weight: 1, arbitrary: fc.constantFrom("a/.", "b/..") },
  { weight: 2, arbitrary: fc.tuple(fc.nat(3), names).map(([n, a]) => `fd:${n}/${a}`) },
);
const hows = fc.constantFrom<OpenHow>("read", "folder", "create", "append", "update");
const numbers = fc.nat(4);

function full({ folder, open }: Process, path: string): string {
  const anchored = /^fd:(\d)\/(.*)$/.exec(path);
  if (anchored === null) return `${folder}/${path}`;
  const fd = open[Number(anchored[1]) % Math.max(1, open.length)];
  return fd === undefined ? `${folder}/${anchored[2]}` : `/proc/self/fd/${fd}/${anchored[2]}`;
}

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(paths, hows).map(([path, how]) =>
    step(`open ${path} ${how}`, (p) => {
      p.open.push(p.disk.open(full(p, path), how, 0o644));
      return "opened";
    }),
  ),
  numbers.map((n) =>
    withFd(`close ${n}`, n, (fd, { disk, open }) => {
      open.splice(open.indexOf(fd), 1);
      disk.close(fd);
    }),
  ),
  fc.tuple(numbers, fc.nat(9), fc.nat(6)).map(([n, at, length]) =>
    withFd(`write ${n} ${length} at ${at}`, n, (fd, { disk }) => {
      writeFully(disk, fd, Buffer.alloc(length, String(at)), at);
    }),
  ),
  fc
    .tuple(numbers, fc.string({ maxLength: 4 }))
    .map(([n, text]) =>
      withFd(`write ${n} ${text}`, n, (fd, { disk }) => writeFully(disk, fd, Buffer.from(text), null)),
    ),
  fc.tuple(numbers, fc.option(fc.nat(9))).map(([n, at]) =>
    withFd(`read ${n} ${at}`, n, (fd, { disk }) => {
      const into = Buffer.alloc(6);
      return into.toString("latin1", 0, readFully(disk, fd, into, at));
    }),
  ),
  fc
    .tuple(numbers, fc.nat(9))
    .map(([n, length]) => withFd(`truncate ${n} ${length}`, n, (fd, { disk }) => disk.truncate(fd, length))),
  fc
    .tuple(numbers, fc.nat(0o777))
    .map(([n, mode]) => withFd(`chmod ${n} ${mode}`, n, (fd, { disk }) => disk.chmod(fd, mode))),
  numbers.map((n) => withFd(`fstat ${n}`, n, (fd, { disk }) => shown(disk.fstat(fd)))),
  numbers.map((n) => withFd(`sync ${n}`, n, (fd, { disk }) => disk.sync(fd))),
  onPath("lstat", (disk, path) => shown(disk.lstat(path))),
  onPath("list", kindsIn),
  onPath("makeFolder", (disk, path) => disk.makeFolder(path, 0o755)),
  onPath("removeFolder", (disk, path) => disk.removeFolder(path)),
  onPath("unlink", (disk, path) => disk.unlink(path)),
  onPath("letOwnerRead", (disk, path) => disk.letOwnerRead(path)),
  onPath("syncFolder", (disk, path) => disk.syncFolder(path)),
  onPath("readlink", (disk, path) => disk.readlink(path).toString()),
  onPath("realpath", (disk, path) => disk.realpath(path)),
  onTwo("rename", (disk, from, to) => disk.rename(from, to)),
  onTwo("link", (disk, from, to) => disk.link(from, to)),
  fc
    .tuple(fc.constantFrom("a", "b/c", "../a", "."), paths)
    .map(([target, path]) =>
      step(`symlink ${target} ${path}`, (p) => p.disk.symlink(Buffer.from(target), full(p, path))),
    ),
);

function step(label: string, act: (process: Process) => unknown): Step {
  return { label, act };
}

function withFd(label: string, n: number, act: (fd: number, process: Process) => unknown): Step {
  return step(label, (process) => {
    const fd = process.open[n % Math.max(1, process.open.length)];
    return fd === undefined ? "nothing open" : act(fd, process);
  });
}

function onPath(label: string, act: (disk: Disk, path: string) => unknown): fc.Arbitrary<Step> {
  return paths.map((path) => step(`${label} ${path}`, (p) => act(p.disk, full(p, path))));
}

function onTwo(label: string, act: (disk: Disk, from: string, to: string) => unknown): fc.Arbitrary<Step> {
  return fc
    .tuple(paths, paths)
    .map(([from, to]) => step(`${label} ${from} ${to}`, (p) => act(p.disk, full(p, from), full(p, to))));
}

/** Returns the parts of a stat that both disks must agree on. The link count of a folder depends on the file system. */
function shown(stat: ReturnType<Disk["lstat"]>): unknown {
  if (stat === undefined) return "nothing";
  const { kind, mode, size, nlink } = stat;
  if (kind === "dir") return `dir ${mode} ${nlink > 0}`;
  return `${kind} ${mode} ${size} ${nlink}`;
}

function kindsIn(disk: Disk, path: string): string {
  return disk
    .list(path)
    .map((item) => `${item.name.toString()}:${item.kind}`)
    .toSorted()
    .join();
}

function wholeTree(disk: Disk, path: string): unknown {
  const found: Record<string, unknown> = {};
  for (const item of disk.list(path)) {
    const child = `${path}/${item.name.toString()}`;
    found[item.name.toString()] = [shown(disk.lstat(child)), item.kind === "dir" ? wholeTree(disk, child) : ""];
  }
  return found;
}

/** Returns the result of a step, or its errno, as text. */
function outcome(one: Step, process: Process): string {
  try {
    return `${one.label}: ${String(one.act(process))}`;
  } catch (error) {
    return `${one.label}: ${errnoOf(error) ?? String(error)}`;
  }
}

describe.runIf(process.platform === "linux")("the simulated disk and the system's", () => {
  let folder: string;
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-fidelity-")));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("give equal results for random operations on both", () => {
    let run = 0;
    const real = new NodeDisk();
    const property = fc.property(fc.array(steps, { minLength: 5, maxLength: 40 }), (plan) => {
      // The place is a few folders deep, because paths may climb out of it. Nothing else is in these folders.
      const place = join(folder, String(run++), "x", "y", "z");
      mkdirSync(place, { recursive: true, mode: 0o755 });
      const sides: Process[] = [
        { disk: real, folder: place, open: [] },
        { disk: SimDisk.fromTree({ [place]: { folder: 0o755 } }), folder: place, open: [] },
      ];
      try {
        for (const one of plan) {
          const [system, simulated] = sides.map((side) => outcome(one, side));
          expect(simulated).toBe(system);
        }
        const [system, simulated] = sides.map((side) => wholeTree(side.disk, side.folder));
        expect(simulated).toEqual(system);
      } finally {
        for (const side of sides) for (const fd of side.open) side.disk.close(fd);
      }
    });
    fc.assert(property, { numRuns: RUNS, seed: SEED });
  });
});
