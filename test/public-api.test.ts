/**
 * The public surface, pinned: a name that comes, goes or changes shows here (`npx vitest run test/public-api -u` writes it
 * anew, and the change belongs in CHANGELOG.md). The command line is pinned by test/cli/reference.test.ts, the package's
 * own entry points by `exports` below.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as library from "../src/index.ts";
import { Project } from "./helpers/project.ts";

const repo = join(import.meta.dirname, "..");
const source = (path: string): string => readFileSync(join(repo, path), "utf8");

/** Names that a file of exports hands on: `type` marks those that exist for the type checker only. */
function exportsOf(path: string): string[] {
  const names: string[] = [];
  for (const [, from = "", file = ""] of source(path).matchAll(/^export (type \*|\{[^}]*\}) from "\.\/([^"]+)";$/gm)) {
    if (from === "type *") names.push(...typesOf(join(path, "..", file)));
    else
      names.push(
        ...from
          .slice(1, -1)
          .split(",")
          .map((name) => name.trim())
          .filter((name) => name !== ""),
      );
  }
  return names.sort();
}

function typesOf(path: string): string[] {
  return [...source(path).matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => `type ${name}`);
}

/** The members of an interface, as they are written. */
function membersOf(path: string, name: string): string[] {
  const body =
    new RegExp(`^export interface ${name} (?:extends [^{]*)?\\{\\n([^]*?)^\\}`, "m").exec(source(path))?.[1] ?? "";
  const withoutComments = body.replace(/\/\*\*[^]*?\*\//g, "");
  return withoutComments
    .split(/;$/m)
    .map((member) => member.trim().replaceAll(/\s+/g, " "))
    .filter((member) => member !== "");
}

const isValue = (name: string): boolean => !name.startsWith("type ");
const nameOf = (member: string): string => /^(?:readonly )?(\w+)/.exec(member)?.[1] ?? "";

it("the package's entry points", () => {
  const manifest = JSON.parse(source("package.json")) as { exports: object; bin: object };
  expect({ bin: manifest.bin, exports: manifest.exports }).toMatchInlineSnapshot(`
    {
      "bin": {
        "chronicle": "bin/chronicle.js",
      },
      "exports": {
        ".": {
          "default": "./dist/index.js",
          "types": "./dist/types/index.d.ts",
        },
        "./testing": {
          "default": "./dist/testing.js",
          "types": "./dist/types/testing/index.d.ts",
        },
      },
    }
  `);
});

it("the library", () => {
  const names = exportsOf("src/index.ts");
  expect(Object.keys(library).sort()).toEqual(names.filter(isValue));
  expect(names).toMatchInlineSnapshot(`
    [
      "ChronicleError",
      "open",
      "openStore",
      "parseExpected",
      "type ChangeShape",
      "type CompactOptions",
      "type CompactShape",
      "type ConfigShape",
      "type ContentStream",
      "type CoverageShape",
      "type DiffOptions",
      "type DiffShape",
      "type DoctorCheck",
      "type DoctorShape",
      "type DuShape",
      "type ErrorCode",
      "type ErrorDetails",
      "type ExpectedHead",
      "type ExpectedHeadShape",
      "type ExplainShape",
      "type GcShape",
      "type HeadShape",
      "type InitOptions",
      "type InitShape",
      "type IterationShape",
      "type LogEventShape",
      "type LogOptions",
      "type ManifestFileShape",
      "type ManifestShape",
      "type OmissionShape",
      "type OpenOptions",
      "type OperationShape",
      "type Progress",
      "type ProgressOptions",
      "type RebuildShape",
      "type RecentItem",
      "type RecentShape",
      "type RecordShape",
      "type Recording",
      "type RestoreOptions",
      "type RestoreShape",
      "type RunOptions",
      "type RunShape",
      "type SessionShape",
      "type SkippedShape",
      "type SnapshotOptions",
      "type SnapshotShape",
      "type StatusShape",
      "type StoreApi",
      "type StoreOptions",
      "type UndoOptions",
      "type UndoShape",
      "type VerifyOptions",
      "type VerifyProblemShape",
      "type VerifyShape",
      "type WorkspaceApi",
      "type WorkspaceShape",
      "verifySignedHead",
    ]
  `);
});

it("the suites for backends", () => {
  // Not imported here: the suites import vitest and are run by the backends' own tests.
  expect(exportsOf("src/testing/index.ts")).toMatchInlineSnapshot(`
    [
      "blobStoreSuite",
      "diskSuite",
      "eventLogSuite",
      "indexStoreSuite",
      "lockSuite",
      "sweepCrashes",
      "type BlobBackend",
      "type CrashSweep",
      "type DiskUnderTest",
      "type HarnessOptions",
      "type LockMaker",
      "type LogBackend",
      "type SweepContext",
      "type SweepResult",
      "type WorktreeEditor",
      "type WorktreeHarness",
      "worktreeSuite",
    ]
  `);
});

it("the workspace", async () => {
  const members = membersOf("src/api/workspace-api.ts", "WorkspaceApi");
  await using project = new Project();
  const workspace = await project.init();
  expect(members.filter((member) => !(nameOf(member) in workspace))).toEqual([]);
  expect(members).toMatchInlineSnapshot(`
    [
      "readonly id: string",
      "readonly path: string",
      "status(options?: ProgressOptions): Promise<StatusShape>",
      "snapshot(options?: SnapshotOptions): Promise<SnapshotShape>",
      "record(paths: readonly string[]): Promise<RecordShape>",
      "snapshots(): Promise<SnapshotShape[]>",
      "manifest(moment: string): Promise<ManifestShape>",
      "diff(from: string, to: string, options?: DiffOptions): Promise<DiffShape>",
      "restore(moment: string, options?: RestoreOptions): Promise<RestoreShape>",
      "undo(options?: UndoOptions): Promise<UndoShape>",
      "redo(options?: UndoOptions): Promise<UndoShape>",
      "operations(): Promise<OperationShape[]>",
      "recent(limit?: number): Promise<RecentShape>",
      "log(options?: LogOptions): Promise<LogEventShape[]>",
      "sessions(): Promise<SessionShape[]>",
      "session(id: string): Promise<SessionShape>",
      "history(path: string): Promise<IterationShape[]>",
      "find(name: string): Promise<string[]>",
      "cat(path: string, iteration?: number): Promise<ContentStream>",
      "explain(path: string): Promise<ExplainShape>",
      "run(options: RunOptions): Promise<RunShape>",
      "watch(options?: ProgressOptions & { readonly onCapture?: (changes: number) => void }): Promise<Recording>",
      "verify(options?: VerifyOptions): Promise<VerifyShape>",
      "rebuild(options?: ProgressOptions): Promise<RebuildShape>",
      "head(): Promise<HeadShape>",
      "compact(options?: CompactOptions): Promise<CompactShape>",
      "gc(options?: ProgressOptions): Promise<GcShape>",
      "du(): Promise<DuShape>",
      "config(): Promise<ConfigShape>",
      "configure(change: Partial<ConfigShape>): Promise<ConfigShape>",
      "close(): Promise<void>",
    ]
  `);
});

it("the store", async () => {
  const members = membersOf("src/api/store-api.ts", "StoreApi");
  await using project = new Project();
  const store = await project.store();
  expect(members.filter((member) => !(nameOf(member) in store))).toEqual([]);
  expect(members).toMatchInlineSnapshot(`
    [
      "readonly home: string",
      "init(options: InitOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>",
      "open(options: OpenOptions): Promise<WorkspaceApi>",
      "openById(id: string): Promise<WorkspaceApi>",
      "workspaces(): Promise<WorkspaceShape[]>",
      "forget(id: string): Promise<WorkspaceShape>",
      "gc(): Promise<GcShape>",
      "du(): Promise<DuShape>",
      "doctor(): Promise<DoctorShape>",
      "close(): Promise<void>",
    ]
  `);
});

it("the options", () => {
  const options = [
    "SnapshotOptions",
    "DiffOptions",
    "RestoreOptions",
    "UndoOptions",
    "VerifyOptions",
    "LogOptions",
    "RunOptions",
  ];
  const members = options.map((name) => [name, membersOf("src/api/workspace-api.ts", name)]);
  members.push(
    ...["StoreOptions", "OpenOptions", "InitOptions"].map((name) => [name, membersOf("src/api/store-api.ts", name)]),
  );
  expect(Object.fromEntries(members)).toMatchInlineSnapshot(`
    {
      "DiffOptions": [
        "readonly paths?: readonly string[]",
        "readonly patch?: boolean",
      ],
      "InitOptions": [
        "readonly roots: readonly string[]",
        "readonly adopt?: string",
        "readonly force?: boolean",
      ],
      "LogOptions": [
        "readonly from?: number",
        "readonly to?: number",
        "readonly limit?: number",
        "readonly reverse?: boolean",
        "readonly prefix?: string",
      ],
      "OpenOptions": [
        "readonly folder: string",
        "readonly create?: boolean",
        "readonly force?: boolean",
        "readonly readOnly?: boolean",
      ],
      "RestoreOptions": [
        "readonly paths?: readonly string[]",
        "readonly to?: string",
        "readonly dryRun?: boolean",
        "readonly keepMtime?: boolean",
        "readonly force?: boolean",
      ],
      "RunOptions": [
        "readonly command: readonly string[]",
        "readonly cwd?: string",
        "readonly env?: Readonly<Record<string, string | undefined>>",
        "readonly rollbackOnFailure?: boolean",
        "readonly networkEvents?: readonly unknown[]",
        "readonly notes?: readonly string[]",
        "readonly onStart?: () => void",
        "readonly onCapture?: (changes: number) => void",
      ],
      "SnapshotOptions": [
        "readonly message?: string",
        "readonly name?: string",
        "readonly pin?: boolean",
        "readonly paranoid?: boolean",
      ],
      "StoreOptions": [
        "readonly home: string",
        "readonly configFolder: string",
        "readonly userHome?: string",
        "readonly waitMs?: number",
        "readonly actor?: string",
      ],
      "UndoOptions": [
        "readonly operation?: string",
        "readonly dryRun?: boolean",
        "readonly force?: boolean",
      ],
      "VerifyOptions": [
        "readonly quick?: boolean",
        "readonly expect?: string",
      ],
    }
  `);
});

it("error codes", () => {
  const [, codes = ""] = /export type ErrorCode =([^;]*);/.exec(source("src/core/errors.ts")) ?? [];
  expect(codes.match(/\w+/g)?.sort()).toMatchInlineSnapshot(`
    [
      "AMBIGUOUS",
      "BLOB_CORRUPT",
      "BLOB_MISSING",
      "FORMAT_UNSUPPORTED",
      "INTEGRITY_VIOLATION",
      "IO",
      "LIMIT_EXCEEDED",
      "LOCKED",
      "LOG_DAMAGED",
      "NOT_FOUND",
      "PATH_INVALID",
      "PLATFORM_UNSUPPORTED",
      "POISONED",
      "PRUNED",
      "READ_ONLY",
      "REFUSED",
      "ROLLBACK_DETECTED",
      "UNSAFE",
      "USAGE",
    ]
  `);
});

it("shapes: fields may be added, none is renamed", () => {
  const shapes = typesOf("src/api/shapes.ts").map((name) => name.replace("type ", ""));
  const fields = shapes.map((name) => [
    name,
    membersOf("src/api/shapes.ts", name)
      .map((member) => /^\w+\??/.exec(member)?.[0])
      .join(" "),
  ]);
  expect(Object.fromEntries(fields)).toMatchInlineSnapshot(`
    {
      "ChangeShape": "path path_b64? change_type kind before_hash after_hash before_size after_size size_delta before_permissions? after_permissions? patch? binary? too_large?",
      "CompactShape": "events_archived base seq archive dropped",
      "ConfigShape": "useGitignore excludePatterns excludeGlobs forceInclude maxEntries maxBytes maxFileSize",
      "CoverageShape": "complete omitted",
      "DiffShape": "from to from_seq to_seq changes",
      "DuShape": "blobs log_bytes index_bytes other_bytes total_bytes store",
      "ExpectedHeadShape": "seq ok signature",
      "ExplainShape": "path tracked recorded rule pattern? source?",
      "GcShape": "freed_blobs freed_bytes pending_blobs pending_bytes",
      "HeadShape": "workspace seq hash log_root root note key",
      "IterationShape": "iteration timestamp size hash deleted? kind permissions seq cause session?",
      "LogEventShape": "seq ts record_id op hash prev_hash recursion_depth record",
      "ManifestFileShape": "kind hash size mtime_ms permissions path_b64?",
      "ManifestShape": "number id timestamp parent root files",
      "OmissionShape": "path reason detail?",
      "OperationShape": "id kind summary started ended from_seq to_seq changed undone",
      "RebuildShape": "events entries seconds",
      "RecordShape": "seq changes coverage",
      "RestoreShape": "changes undo_id skipped conflicts dry_run finished to?",
      "RunShape": "session changes ambiguous coverage exit_code signal undo_id rolled_back skipped",
      "SessionShape": "session_id started ended command tracked_paths exit_code signal snapshot_count merkle_roots network_events notes state from_seq to_seq changed",
      "SkippedShape": "path reason detail?",
      "SnapshotShape": "number id seq root coverage timestamp cause name? pinned message? parent session? changed compacted_by?",
      "StatusShape": "workspace path roots root seq head changes coverage snapshots latest_snapshot entries bytes read_only notes",
      "UndoShape": "operation notes",
      "VerifyProblemShape": "kind where detail",
      "VerifyShape": "ok events blobs bytes problems notes anchored_to expected seconds",
      "WorkspaceShape": "id path roots seq created last_event present problem?",
    }
  `);
});
