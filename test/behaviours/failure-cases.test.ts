import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

/**
 * The known failures of software of this kind, by number, with the tests that fail without the safe behaviour:
 * `[file, a part of the test's title]`. This test fails if one of these tests is missing.
 *
 * Not listed here: erasing secrets (the second half of C18), transactions (R13; an interrupted operation is R5),
 * moments that peers hold (W5 and W6 through replicas), replication, servers and the user interface (all P, H, A and S
 * rows).
 */
const CASES: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  "C1 symlinks": [["behaviours/capture-cases", "C1 symlinks"]],
  "C2 swapped between listing and opening": [
    ["behaviours/capture-cases", "C2 a file that keeps turning"],
    ["worktree/hard-cases", "nothing is ever read or written outside"],
  ],
  "C3 FIFO, socket, device": [["behaviours/capture-cases", "C3 FIFO"]],
  "C4 hard links": [
    ["behaviours/capture-cases", "C4 hard links"],
    ["worktree/hard-cases", "a hard link is replaced, never written through"],
  ],
  "C5 changes while read": [
    ["behaviours/capture-cases", "C5 a file that is written"],
    ["@worktree/files/read-stable", "a file that never settles is unstable"],
  ],
  "C6 same-size edit within the clock's grain": [["behaviours/capture-cases", "C6 an edit of the same size"]],
  "C7 unreadable": [
    ["behaviours/capture-cases", "C7 unreadable files"],
    ["worktree/permissions", "a folder that may not be read is listed"],
  ],
  "C8 sparse and huge files": [["behaviours/capture-cases", "C8 a sparse file"]],
  "C9 names that are not UTF-8": [
    ["behaviours/capture-cases", "C9 C10 names"],
    ["worktree/hard-cases", "names that are not UTF-8"],
  ],
  "C10 names that could be taken for something else": [
    ["behaviours/capture-cases", "C9 C10 names"],
    ["cli/pipes", "names that could move the cursor"],
  ],
  "C11 NFC and NFD, case twins": [["behaviours/capture-cases", "C11 NFC"]],
  "C12 paths over 4096 bytes": [
    ["behaviours/capture-cases", "C12 a path"],
    ["worktree/hard-cases", "paths longer than the system takes"],
  ],
  "C13 empty and read-only folders, modes, setuid": [["behaviours/capture-cases", "C13 empty and read-only"]],
  "C15 appearing and vanishing": [["behaviours/capture-cases", "C15 files that come and go"]],
  "C16 nested stores and workspaces": [
    ["behaviours/capture-cases", "C16 a store inside"],
    ["behaviours/capture-cases", "C16 a workspace within"],
  ],
  "C17 other devices": [
    ["behaviours/capture-cases", "C17 another file system"],
    ["worktree/permissions", "folders on other devices are not entered"],
  ],
  "C18 private from the start": [
    ["behaviours/failure-cases", "C18 everything in a store is private"],
    ["@storage/files/blob-store-processes", "folders are private"],
  ],
  "C19 ignore rules changed afterwards": [
    ["behaviours/capture-cases", "C19 rules that an agent changes"],
    ["behaviours/capture-cases", "C19 C7 also at a moment"],
  ],
  "R1 a parent swapped for a link": [
    ["behaviours/restore-cases", "R1 a folder that is exchanged"],
    ["behaviours/restore-cases", "R1 a parent that has become"],
  ],
  "R2 bad paths in a manifest": [
    ["behaviours/restore-cases", "R2 R3 a path with"],
    ["@core/values/path", "refuses names that leave the folder"],
  ],
  "R3 paths for deletion": [["behaviours/restore-cases", "R2 R3 a path with"]],
  "R4 local changes after the snapshot": [["behaviours/restore-cases", "R4 what was edited since"]],
  "R5 a crash at any point": [
    ["crash/engine", "restore"],
    ["behaviours/kill", "at random moments of"],
    ["behaviours/kill", "at chosen calls"],
  ],
  "R6 no space": [
    ["behaviours/trouble-cases", "R6 of the workspace"],
    ["@worktree/apply/apply-crash", "an apply changes nothing if the disk runs full"],
  ],
  "R7 busy, immutable, read-only": [
    ["behaviours/restore-cases", "R7 a folder that may not be written"],
    ["behaviours/restore-cases", "R7 as a user without rights"],
    ["behaviours/restore-cases", "R7 a file that nobody may change"],
  ],
  "R8 changes of kind": [
    ["behaviours/restore-cases", "R8 every change of kind"],
    ["behaviours/restore-cases", "R8 a folder with files"],
    ["behaviours/restore-cases", "R8 a file back"],
  ],
  "R9 only what differs is touched": [["behaviours/restore-cases", "R9 files that are the same"]],
  "R10 a content missing or corrupt": [["behaviours/restore-cases", "R10 a content"]],
  "R11 others writing at the same time": [
    ["behaviours/restore-cases", "R11 somebody who keeps writing"],
    ["worktree/hard-cases", "an edit while contents are being staged blocks"],
  ],
  "R12 creations and moves": [["behaviours/restore-cases", "R12 taking back"]],
  "R14 restore, snapshot and gc at once": [["behaviours/kill", "snapshot, restore, gc and run"]],
  "R15 special modes": [["behaviours/restore-cases", "R15 set-id"]],
  "W1 short writes": [
    ["@storage/files/file-event-log", "the short write is cut back"],
    ["@disk/write-fully", "continue where a short write or read stopped"],
  ],
  "W2 a failed fsync": [
    ["@storage/files/file-event-log", "a failed sync poisons"],
    ["@storage/files/blob-faults", "a failed sync: writes are refused while the disk fails"],
  ],
  "W3 a torn tail": [
    ["behaviours/log-cases", "moved to quarantine, recorded, never glued"],
    ["crash/engine", "capture behind a torn tail"],
  ],
  "W4 a corrupt line in the middle": [["behaviours/log-cases", "W4 one character of a record"]],
  "W5 cut at the end of a line": [["behaviours/log-cases", "W5 cut off at the end of a line"]],
  "W6 the whole store rolled back": [
    ["behaviours/log-cases", "W6 the whole store"],
    ["behaviours/verify-detects", "an older copy of everything"],
  ],
  "W7 a freshly computed chain": [["behaviours/log-cases", "W7 a freshly computed chain"]],
  "W8 the state after compaction": [["crash/compact", "compact"]],
  "W9 a lost or corrupt index": [["behaviours/log-cases", "W9 lost, cut, garbled"]],
  "W10 bit rot": [
    ["behaviours/verify-detects", "is found wherever it is"],
    ["behaviours/verify-planted", "without the hash check"],
    ["@storage/files/blob-recovery", "damage in the middle of a lane"],
  ],
  "W11 two processes": [
    ["behaviours/kill", "snapshot, restore, gc and run"],
    ["crash/two-writers", "processes that append at once"],
  ],
  "W12 gc beside a snapshot that stands still": [
    ["@storage/files/blob-store-processes", "one is stopped in the middle of a batch"],
    ["behaviours/gc-beside-an-action", "between its contents and its event"],
    ["behaviours/gc-beside-an-action", "between its beginning and its end"],
  ],
  "W13 clocks": [
    ["behaviours/log-cases", "W13 backwards"],
    ["behaviours/retention", "W13 a clock that jumps deletes nothing"],
  ],
  "W14 gaps, repetitions": [
    ["behaviours/log-cases", "W14 two lines exchanged"],
    ["behaviours/log-cases", "W14 a line left out"],
  ],
  "W15 injection into lines": [
    ["behaviours/log-cases", "W15 CRLF"],
    ["behaviours/log-cases", "W15 U+2028"],
    ["behaviours/log-cases", "W15 a line of 70 MiB"],
  ],
  "W16 other forms of the same JSON": [
    ["behaviours/log-cases", "W16 a key twice"],
    ["@core/values/canonical-json", "refuses every text that is not the canonical text of its value"],
  ],
  "W17 framing": [["@core/log/chain", "refuses a framing that could stand for two payloads"]],
  "W18 events of another store": [
    ["behaviours/log-cases", "W18 the log of another workspace"],
    ["behaviours/log-cases", "an event of another workspace (W18)"],
  ],
  "W19 Merkle trees": [
    ["@core/tree/merkle", "does not double an odd node"],
    ["@core/tree/merkle", "covers name, kind, mode and hash"],
  ],
  "W20 compaction, pruning and the chain": [
    ["crash/compact", "compact --drop-archive"],
    ["crash/prune", "prune, then gc"],
  ],
  "W21 errors of the system": [
    ["crash/engine", "capture"],
    ["behaviours/trouble-cases", "W21 EMFILE"],
    ["behaviours/trouble-cases", "W21 no inodes left"],
  ],
  "W22 kill -9": [["behaviours/kill", "at random moments of"]],
  "W23 a full disk when the store is opened": [["behaviours/trouble-cases", "W23 of a store that is opened"]],
  "W24 formats from the future": [
    ["behaviours/log-cases", "W24 workspace.json says"],
    ["behaviours/log-cases", "W24 an operation from the future"],
  ],
  "gc while a log is not what it was": [["behaviours/log-cases", "nothing is written any more"]],
};

const test = dirname(import.meta.dirname);
const src = join(dirname(test), "src");

function fileOf(name: string): string {
  const path = name.startsWith("@") ? join(src, name.slice(1)) : join(test, name);
  return [`${path}.test.ts`, `${path}.long.test.ts`].find((file) => existsSync(file)) ?? `${path}.test.ts`;
}

it.each(Object.entries(CASES))("%s", (_, tests) => {
  expect(tests.length).toBeGreaterThan(0);
  for (const [name, title] of tests) {
    const file = fileOf(name);
    expect(existsSync(file) ? readFileSync(file, "utf8") : `${file} is missing`).toContain(title);
  }
});

it("C18 everything in a store is private, whatever the umask", async () => {
  const before = process.umask(0);
  try {
    await using project = new Project();
    project.write(".env", "SECRET=1\n");
    project.write("large", Buffer.alloc(9_000_000, "x"));
    const workspace = await project.init();
    await workspace.snapshot();
    await workspace.close();
    for (const folder of [project.home, project.configFolder]) {
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        const stat = statSync(join(folder, name));
        expect(`${name} ${(stat.mode & 0o777).toString(8)}`).toBe(`${name} ${stat.isDirectory() ? "700" : "600"}`);
      }
    }
  } finally {
    process.umask(before);
  }
});
