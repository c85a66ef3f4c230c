import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import type { Entry } from "../values/entry.ts";
import type { RecordBody } from "../values/event.ts";
import { decodeFile, encodeFile, fileRecordId, pathOfRecordId, type FileRecord } from "../values/file-record.ts";
import { sha256 } from "../values/hash.ts";
import { parsePath, pathFromBytes, pathInRoot, type WorkspacePath } from "../values/path.ts";
import { changeBetween, decodePlan, encodePlan, invert } from "../tree/plan.ts";
import { decodeIntent, decodeSession, decodeSnapshot, encodeIntent, encodeSession, encodeSnapshot } from "./records.ts";
import { decodeWorkspace, encodeWorkspace } from "./workspace-record.ts";

const odd = pathFromBytes(Buffer.from([0x64, 0x2f, 0xff, 0xfe]));
const paths: WorkspacePath[] = [
  parsePath("a"),
  parsePath("src/é\n.ts"),
  odd,
  pathInRoot("lib", parsePath("a")),
  pathInRoot("lib", odd),
];
const hash = sha256("x");
const file = (path: WorkspacePath): Entry => ({ path, kind: "file", mode: 0o644, size: 1, mtimeMs: 5, hash });

/** Returns the record as it is read back from a line. */
function through(body: RecordBody): RecordBody {
  return parseCanonical(canonicalJson(body)) as RecordBody;
}

describe("file records", () => {
  it.each(paths)("the id of %j is decoded to the same path", (path) => {
    expect(pathOfRecordId(fileRecordId(path))).toBe(path);
  });

  it.each([
    "file:../x",
    "file:/etc/passwd",
    "file:a/../../b",
    "file@lib:..",
    `file64:${Buffer.from("../x").toString("base64")}`,
  ])("refuses the id %j", (id) => {
    expect(() => pathOfRecordId(id)).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
  });

  it("have no path if their id is that of another record", () => {
    expect(pathOfRecordId("snapshot:1")).toBeUndefined();
  });

  it("are decoded from a line as they were encoded", () => {
    const states = [
      file(odd),
      undefined,
      { ...file(odd), kind: "dir" as const, hash: undefined },
      { ...file(odd), class: "protected" as const },
    ];
    for (const entry of states) {
      const record: FileRecord = { entry, iteration: 3, cause: "run", actor: "agent", session: "s" };
      expect(decodeFile(odd, through(encodeFile(record)))).toEqual(record);
    }
  });

  it.each([
    { mode: -1 },
    { mode: 0o10000 },
    { kind: "device" },
    { hash: "abc" },
    { size: 1.5 },
    { iteration: "1" },
    { class: "secret" },
    { class: "protected", kind: "symlink" },
  ])("are reported as damage with %j", (wrong) => {
    const body = { ...encodeFile({ entry: file(odd), iteration: 1, cause: "run", actor: "a" }), ...wrong };
    expect(() => decodeFile(odd, body)).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
  });
});

describe("other records", () => {
  it("are decoded from a line as they were encoded", () => {
    const filter = { useGitignore: true, excludePatterns: ["a"], excludeGlobs: [], forceInclude: [] };
    const limits = { maxEntries: 1, maxBytes: 2, maxFileSize: 0 };
    const workspace = {
      format: 2,
      created: "2030-01-01T00:00:00.000Z",
      roots: [
        { id: null, folder: "/p", filter, limits },
        { id: "x", folder: "/q", only: "f", filter, limits },
      ],
      device: "1",
      inode: "2",
    };
    expect(decodeWorkspace(through(encodeWorkspace(workspace)))).toEqual(workspace);
    const from = { workspace: "w", seq: 7, hash, root: hash };
    const fork = { ...workspace, name: "session-1", archived: "2030-01-02T00:00:00.000Z", from };
    expect(decodeWorkspace(through(encodeWorkspace(fork)))).toEqual(fork);
    expect(() => decodeWorkspace({ ...encodeWorkspace(fork), from: { ...from, seq: "7" } })).toThrow(
      expect.objectContaining({ code: "LOG_DAMAGED" }),
    );
    const snapshot = {
      number: 1,
      cause: "snapshot",
      root: hash,
      parent: 0,
      pinned: false,
      actor: "human",
      changed: 2,
      coverage: { complete: false, omitted: [{ path: odd, reason: "unreadable" as const, detail: "EACCES" }] },
      filter: hash,
      entries: 5,
      bytes: 6,
      name: "before",
    };
    expect(decodeSnapshot(through(encodeSnapshot(snapshot)))).toEqual(snapshot);
    const intent = {
      kind: "undo" as const,
      state: "done" as const,
      summary: "s",
      actor: "a",
      started: "t",
      plan: hash,
      paths: 1,
      fromSeq: 4,
      target: "x",
      skipped: 0,
    };
    expect(decodeIntent(through(encodeIntent(intent)))).toEqual(intent);
    const session = {
      kind: "run" as const,
      state: "ended" as const,
      command: ["sh"],
      started: "t",
      ended: null,
      exitCode: 0,
      signal: null,
      paths: ["/p"],
      fromSeq: 3,
      merkleRoots: [hash],
      snapshots: 1,
      changed: 1,
      networkEvents: [{ host: "x", seconds: 1.5, deep: [{ "\ud800": -2e-7 }] }, 0.25, "text", null],
      notes: ["n"],
      actor: "a",
      pid: 4,
      omittedChanges: [
        { path: odd, type: "deleted" as const, reason: "excluded" as const, detail: "git", kept: false, lost: true },
        { path: parsePath(".env"), type: "modified" as const, reason: "excluded" as const, kept: true, lost: false },
      ],
      within: { run: "r", action: "a" },
    };
    expect(decodeSession(through(encodeSession(session)))).toEqual(session);
    const broken = { ...encodeSession(session), network_events: ["{"] };
    expect(() => decodeSession(broken)).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
  });

  it("a workspace of a later format is refused", () => {
    const body = { format: 3, created: "t", roots: [], device: "1", inode: "1" };
    expect(() => decodeWorkspace(body)).toThrow(expect.objectContaining({ code: "FORMAT_UNSUPPORTED" }));
  });
});

describe("plans", () => {
  it("are decoded as they were encoded, and inverting one twice gives the same plan", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom(...paths)), fc.boolean(), (chosen, creates) => {
        const changes = chosen.flatMap(
          (path) => changeBetween(path, creates ? undefined : file(path), creates ? file(path) : undefined) ?? [],
        );
        const read = decodePlan(encodePlan(changes));
        expect(new Set(read.map((change) => change.path))).toEqual(new Set(chosen));
        expect(invert(invert(read))).toEqual(read);
        expect(decodePlan(encodePlan(read))).toEqual(read);
      }),
    );
  });

  it("are refused if a path leaves the workspace, and if they are no list of changes", () => {
    for (const plan of ['[{"after":null,"before":null,"path":"../x"}]', "[null]", "[[]]", '["a"]', "{}"]) {
      const bytes = Buffer.from(plan);
      expect(() => decodePlan(bytes), plan).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
    }
  });
});
