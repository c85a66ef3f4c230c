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
        "./client": {
          "default": "./dist/client.js",
          "types": "./dist/types/client/index.d.ts",
        },
        "./client/node": {
          "default": "./dist/client-node.js",
          "types": "./dist/types/client/node.d.ts",
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
      "openRecordStore",
      "openStore",
      "parseExpected",
      "type ActingAs",
      "type ActionApi",
      "type ActionDiffShape",
      "type ActionEnd",
      "type ActionEndShape",
      "type ActionFileChangeShape",
      "type ActionPayload",
      "type ActionRequest",
      "type ActionShape",
      "type ChangeShape",
      "type ChangesShape",
      "type CompactOptions",
      "type CompactShape",
      "type ConfigShape",
      "type ConflictShape",
      "type ConflictsOptions",
      "type ContentStream",
      "type CoverageShape",
      "type CreateOptions",
      "type DiffOptions",
      "type DiffShape",
      "type DoctorCheck",
      "type DoctorShape",
      "type DuGroupShape",
      "type DuShape",
      "type ErrorCode",
      "type ErrorDetails",
      "type EventsOptions",
      "type ExpectedHead",
      "type ExpectedHeadShape",
      "type ExplainShape",
      "type FileApi",
      "type FileContent",
      "type FileListShape",
      "type FileShape",
      "type FileWriteShape",
      "type FollowOptions",
      "type GcShape",
      "type HeadShape",
      "type HistoryOptions",
      "type ImportOptions",
      "type InitOptions",
      "type InitShape",
      "type IterationShape",
      "type ListFilesOptions",
      "type LogEventShape",
      "type LogOptions",
      "type ManifestFileShape",
      "type ManifestShape",
      "type OmissionShape",
      "type OpenByIdOptions",
      "type OpenOptions",
      "type OperationShape",
      "type Progress",
      "type ProgressOptions",
      "type PruneOptions",
      "type PruneShape",
      "type PutFileOptions",
      "type ReadFileOptions",
      "type RebuildShape",
      "type RecentItem",
      "type RecentShape",
      "type RecordEventShape",
      "type RecordImportShape",
      "type RecordPut",
      "type RecordShape",
      "type RecordStoreApi",
      "type RecordStoreOptions",
      "type RecordVerifyShape",
      "type Recording",
      "type ResolveOptions",
      "type ResolveShape",
      "type RestoreOptions",
      "type RestoreShape",
      "type RetentionShape",
      "type RetentionSourcesShape",
      "type RollbackOptions",
      "type RunOptions",
      "type RunShape",
      "type Selection",
      "type SessionShape",
      "type SessionStart",
      "type SkippedShape",
      "type SnapshotOptions",
      "type SnapshotShape",
      "type StandaloneRecordStoreApi",
      "type StatusShape",
      "type StoreApi",
      "type StoreOptions",
      "type TransactionOptions",
      "type TransactionRollbackShape",
      "type TransactionShape",
      "type UndoOptions",
      "type UndoShape",
      "type VerifyOptions",
      "type VerifyProblemShape",
      "type VerifyShape",
      "type WatchOptions",
      "type WorkspaceApi",
      "type WorkspaceShape",
      "type WriteBy",
      "type WriteCondition",
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
      "outsideFilesSuite",
      "sweepCrashes",
      "type BlobBackend",
      "type CrashSweep",
      "type DiskUnderTest",
      "type LockMaker",
      "type LogBackend",
      "type OutsideEditor",
      "type OutsideHarness",
      "type SweepContext",
      "type SweepResult",
      "type WorkspaceUnderTest",
      "workspaceSuite",
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
      "readonly records: RecordStoreApi",
      "status(options?: ProgressOptions): Promise<StatusShape>",
      "snapshot(options?: SnapshotOptions): Promise<SnapshotShape>",
      "record(paths: readonly string[]): Promise<RecordShape>",
      "snapshots(): Promise<SnapshotShape[]>",
      "manifest(moment: string): Promise<ManifestShape>",
      "diff(from: string, to: string, options?: DiffOptions): Promise<DiffShape>",
      "diff(action: string): Promise<ActionDiffShape>",
      "restore(moment: string, options?: RestoreOptions): Promise<RestoreShape>",
      "undo(options?: UndoOptions): Promise<UndoShape>",
      "redo(options?: UndoOptions): Promise<UndoShape>",
      "operations(): Promise<OperationShape[]>",
      "recent(limit?: number): Promise<RecentShape>",
      "log(options?: LogOptions): Promise<LogEventShape[]>",
      "sessions(): Promise<SessionShape[]>",
      "session(id: string): Promise<SessionShape>",
      "find(name: string): Promise<string[]>",
      "cat(path: string, iteration?: number): Promise<ContentStream>",
      "explain(path: string): Promise<ExplainShape>",
      "run(options: RunOptions): Promise<RunShape>",
      "watch(options?: WatchOptions): Promise<Recording>",
      "follow(options?: FollowOptions): Promise<void>",
      "verify(options?: VerifyOptions): Promise<VerifyShape>",
      "rebuild(options?: ProgressOptions): Promise<RebuildShape>",
      "head(): Promise<HeadShape>",
      "compact(options?: CompactOptions): Promise<CompactShape>",
      "gc(options?: ProgressOptions): Promise<GcShape>",
      "du(options?: { readonly by?: "session" | "path" | "age" }): Promise<DuShape>",
      "config(): Promise<ConfigShape>",
      "configure(change: Partial<ConfigShape>): Promise<ConfigShape>",
      "retention(): Promise<RetentionSourcesShape>",
      "refuse?(what: string): Promise<never>",
      "as(who: ActingAs): WorkspaceApi",
      "close(): Promise<void>",
    ]
  `);
});

it("actions, transactions, conflicts, pruning", async () => {
  const members = membersOf("src/api/action-api.ts", "ActionApi");
  await using project = new Project();
  const workspace = await project.init();
  expect(members.filter((member) => !(nameOf(member) in workspace))).toEqual([]);
  expect(members).toMatchInlineSnapshot(`
    [
      "snapshotAction(request: ActionRequest): Promise<ActionShape | null>",
      "finishAction(id: string, end?: ActionEnd): Promise<ActionEndShape>",
      "action<T>(request: ActionRequest, work: (action: ActionShape | null) => Promise<T> | T): Promise<T>",
      "list(): Promise<ActionShape[]>",
      "showAction(id: string): Promise<ActionShape>",
      "diffAction(id: string): Promise<ActionDiffShape>",
      "rollback(id: string, options?: RollbackOptions): Promise<RestoreShape>",
      "verifyIntegrity(): Promise<void>",
      "changes(selection: Selection, options?: { readonly patch?: boolean }): Promise<ChangesShape>",
      "startSession(start?: SessionStart): Promise<SessionShape>",
      "endSession(id: string): Promise<SessionShape>",
      "abandonActions(of: { readonly session: string; readonly turn?: string; readonly reason?: string }): Promise<string[]>",
      "beginTransaction(options?: TransactionOptions): Promise<TransactionShape>",
      "commitTransaction(id: string): Promise<TransactionShape>",
      "rollbackTransaction(id: string, options?: { readonly force?: boolean }): Promise<TransactionRollbackShape>",
      "transactions(): Promise<TransactionShape[]>",
      "transaction<T>(work: (transaction: TransactionShape) => Promise<T> | T, options?: TransactionOptions): Promise<T>",
      "conflicts(options?: ConflictsOptions): Promise<ConflictShape[]>",
      "resolve(conflict: string, options: ResolveOptions): Promise<ResolveShape>",
      "prune(options?: PruneOptions): Promise<PruneShape>",
      "pin(id: string, pinned?: boolean): Promise<void>",
    ]
  `);
});

it("records", async () => {
  const members = membersOf("src/api/record-api.ts", "RecordStoreApi");
  await using project = new Project();
  const { records } = await project.init();
  expect(members.filter((member) => /^\w/.test(member) && !(nameOf(member) in records))).toEqual([]);
  expect(members).toMatchInlineSnapshot(`
    [
      "upsert(id: string, record: RecordBody, options?: RecordPut): Promise<RecordEventShape>",
      "get(id: string): Promise<RecordBody | undefined>",
      "delete(id: string, options?: RecordPut): Promise<RecordEventShape | undefined>",
      "all(): Promise<readonly (readonly [string, RecordBody])[]>",
      "replay(from?: number): AsyncIterable<RecordEventShape>",
      "migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number>",
      "backup(folder: string): Promise<string>",
      "export(): AsyncIterable<string>",
      "compact(): Promise<number>",
      "chainValid(): Promise<boolean>",
      "verify(): Promise<RecordVerifyShape>",
      "importChronomemory(log: Uint8Array, options?: ImportOptions): Promise<RecordImportShape>",
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
      "create(options?: CreateOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>",
      "openById(id: string, options?: OpenByIdOptions): Promise<WorkspaceApi>",
      "archive(id: string, archived?: boolean): Promise<WorkspaceShape>",
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
  const asked = ["ActionRequest", "ActionPayload", "ActionEnd", "Selection", "RollbackOptions", "TransactionOptions"];
  members.push(
    ...[...asked, "ResolveOptions", "PruneOptions", "SessionStart"].map((name) => [
      name,
      membersOf("src/api/action-api.ts", name),
    ]),
  );
  expect(Object.fromEntries(members)).toMatchInlineSnapshot(`
    {
      "ActionEnd": [
        "readonly outcome?: "done" | "failed" | "denied"",
        "readonly reason?: string",
        "readonly onFailure?: "block" | "warn"",
      ],
      "ActionPayload": [
        "readonly path?: string",
        "readonly content?: unknown",
        "readonly source?: string",
        "readonly destination?: string",
        "readonly command?: string",
        "readonly cwd?: string",
        "readonly paths?: readonly string[]",
      ],
      "ActionRequest": [
        "readonly type: string",
        "readonly payload?: ActionPayload",
        "readonly actor?: string",
        "readonly session?: string",
        "readonly turn?: string",
        "readonly toolCall?: string",
        "readonly depth?: number",
        "readonly transaction?: string",
        "readonly summary?: string",
        "readonly onFailure?: "block" | "warn"",
        "readonly otr?: boolean",
        "readonly pid?: number | null",
      ],
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
        "readonly role?: "person" | "agent"",
        "readonly client?: string",
      ],
      "PruneOptions": [
        "readonly keepLast?: number",
        "readonly keepHourly?: number",
        "readonly keepDaily?: number",
        "readonly keepWeekly?: number",
        "readonly keepMonthly?: number",
        "readonly keepYearly?: number",
        "readonly keepWithinMs?: number",
        "readonly keepPinned?: boolean",
        "readonly dryRun?: boolean",
      ],
      "ResolveOptions": [
        "readonly keep: "current" | "undo" | "merged"",
        "readonly content?: Uint8Array",
      ],
      "RestoreOptions": [
        "readonly paths?: readonly string[]",
        "readonly to?: string",
        "readonly dryRun?: boolean",
        "readonly keepMtime?: boolean",
        "readonly force?: boolean",
      ],
      "RollbackOptions": [
        "readonly dryRun?: boolean",
        "readonly force?: boolean",
        "readonly outside?: readonly string[]",
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
      "Selection": [
        "readonly action?: string",
        "readonly turn?: string",
        "readonly session?: string",
        "readonly actor?: string",
        "readonly file?: string",
        "readonly since?: string",
      ],
      "SessionStart": [
        "readonly id?: string",
        "readonly actor?: string",
        "readonly notes?: readonly string[]",
        "readonly pid?: number | null",
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
        "readonly onNote?: (note: string) => void",
        "readonly onCommit?: (commit: { readonly events: number }) => void",
        "readonly retention?: Partial<RetentionShape>",
        "readonly retentionDefaults?: Partial<RetentionShape>",
        "readonly role?: "person" | "agent"",
      ],
      "TransactionOptions": [
        "readonly name?: string",
        "readonly actor?: string",
        "readonly session?: string",
        "readonly pid?: number | null",
        "readonly onOwnerDeath?: "rollback" | "keep"",
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
      "FORBIDDEN",
      "FORMAT_UNSUPPORTED",
      "INTEGRITY_VIOLATION",
      "LIMIT_EXCEEDED",
      "LOCKED",
      "LOG_DAMAGED",
      "NOT_FOUND",
      "Of",
      "PATH_INVALID",
      "PLATFORM_UNSUPPORTED",
      "POISONED",
      "PRECONDITION_FAILED",
      "PRUNED",
      "READ_ONLY",
      "REFUSED",
      "ROLLBACK_DETECTED",
      "The",
      "UNSAFE",
      "USAGE",
      "a",
      "a",
      "as",
      "be",
      "caller",
      "is",
      "it",
      "must",
      "no",
      "not",
      "one",
      "or",
      "said",
      "server",
      "that",
      "the",
      "thing",
      "token",
      "wrong",
    ]
  `);
});

it("shapes: fields may be added, none is renamed", () => {
  const files = ["shapes", "action-shapes", "conflict-shape", "record-api"].map((name) => `src/api/${name}.ts`);
  const shapes = files.flatMap((file) =>
    typesOf(file)
      .map((name) => [file, name.replace("type ", "")] as const)
      .filter(([, name]) => name.endsWith("Shape")),
  );
  const fields = shapes.map(([file, name]) => [
    name,
    membersOf(file, name)
      .map((member) => /^\w+\??/.exec(member)?.[0])
      .join(" "),
  ]);
  expect(Object.fromEntries(fields)).toMatchInlineSnapshot(`
    {
      "ActionDiffShape": "from to timestamp changes",
      "ActionEndShape": "action changes ambiguous coverage",
      "ActionFileChangeShape": "path change_type before_hash after_hash size_bytes",
      "ActionShape": "id timestamp action_type action_summary files_backed_up outside previous_hash hash transaction_id state scope actor session turn tool_call recursion_depth seq from_seq ended changed pinned coverage reason?",
      "ChangeShape": "path path_b64? change_type kind before_hash after_hash before_size after_size size_delta before_permissions? after_permissions? patch? binary? too_large? pruned?",
      "ChangesShape": "selection actions changes ambiguous",
      "CompactShape": "events_archived base seq archive dropped",
      "ConfigShape": "useGitignore excludePatterns excludeGlobs forceInclude maxEntries maxBytes maxFileSize",
      "ConflictShape": "id path path_b64? timestamp state settled? reason undo_id current_hash undo_hash current_size undo_size current_kind undo_kind current_permissions? undo_permissions? patch? binary? too_large?",
      "CoverageShape": "complete omitted",
      "DiffShape": "from to from_seq to_seq changes",
      "DuGroupShape": "name count content_bytes",
      "DuShape": "blobs log_bytes index_bytes other_bytes total_bytes store groups?",
      "ExpectedHeadShape": "seq ok signature",
      "ExplainShape": "path tracked recorded rule pattern? source?",
      "GcShape": "freed_blobs freed_bytes pending_blobs pending_bytes",
      "HeadShape": "workspace seq hash log_root root note key",
      "IterationShape": "iteration timestamp size hash deleted? kind permissions seq cause actor session? action? pruned_by?",
      "LogEventShape": "seq ts record_id op hash prev_hash recursion_depth record",
      "ManifestFileShape": "kind hash size mtime_ms permissions path_b64?",
      "ManifestShape": "number id timestamp parent root files",
      "OmissionShape": "path reason detail?",
      "OperationShape": "id kind summary started ended from_seq to_seq changed undone client?",
      "PruneShape": "dry_run event floor_seq pruned_actions pruned_snapshots kept_actions kept_snapshots too_young freed_contents freed_bytes",
      "RebuildShape": "events entries seconds",
      "RecordEventShape": "seq ts op record_id record prev_hash hash recursion_depth",
      "RecordImportShape": "source events records rounded seqs head",
      "RecordShape": "seq changes coverage",
      "RecordVerifyShape": "ok events head problems notes",
      "ResolveShape": "conflict changes undo_id",
      "RestoreShape": "changes undo_id skipped conflicts dry_run finished to? rollback_id?",
      "RetentionShape": "max_snapshots max_age_days min_age_hours max_store_bytes",
      "RetentionSourcesShape": "sources",
      "RunShape": "session changes ambiguous coverage exit_code signal undo_id rolled_back skipped",
      "SessionShape": "session_id kind actor started ended command tracked_paths exit_code signal snapshot_count merkle_roots network_events notes state from_seq to_seq changed",
      "SkippedShape": "path reason detail?",
      "SnapshotShape": "number id seq root coverage timestamp cause name? pinned message? parent session? changed compacted_by? pruned_by?",
      "StatusShape": "workspace path roots root seq head changes coverage snapshots latest_snapshot entries bytes read_only notes",
      "TransactionRollbackShape": "transaction undo",
      "TransactionShape": "id status started_at finished_at? snapshots name? parent? actor session? orphaned?",
      "UndoShape": "operation selection? notes unmerged",
      "VerifyProblemShape": "kind where detail",
      "VerifyShape": "ok events blobs bytes problems notes anchored_to expected seconds",
      "WorkspaceShape": "id name? path roots seq created last_event present archived? problem?",
    }
  `);
});
