/**
 * These tests pin the public surface: they fail if a name is added, removed or changed. `npx vitest run test/public -u`
 * writes the names anew, and the change belongs in CHANGELOG.md. The command line is pinned by
 * test/cli/reference.test.ts, the package's own entry points by `exports` below.
 */
import { expect, it } from "vitest";
import * as library from "../src/index.ts";
import { Project } from "./helpers/project.ts";
import { exportsOf, membersOf, source } from "./helpers/public-surface.ts";

const isValue = (name: string): boolean => !name.startsWith("type ");
const nameOf = (member: string): string => /^(?:readonly )?(\w+)/.exec(member)?.[1] ?? "";

it("the package's entry points are pinned", () => {
  const manifest = JSON.parse(source("package.json")) as { exports: object; bin: object };
  expect({ bin: manifest.bin, exports: manifest.exports }).toMatchInlineSnapshot(`
    {
      "bin": {
        "chronicle": "bin/chronicle.cjs",
      },
      "exports": {
        ".": {
          "default": "./dist/index.js",
          "module": "./dist/library.js",
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

it("the library's exports are pinned", () => {
  const names = exportsOf("src/index.ts");
  expect(Object.keys(library).sort()).toEqual(names.filter(isValue));
  expect(names).toMatchInlineSnapshot(`
    [
      "ChronicleError",
      "DirectionalFilter",
      "FilterPattern",
      "SANDBOX_POLICY",
      "exportArchive",
      "importArchive",
      "open",
      "openRecordStore",
      "openStore",
      "openSyncs",
      "parseExpected",
      "syncBridge",
      "type AcceptedHeadShape",
      "type ActingAs",
      "type ActionApi",
      "type ActionDiffShape",
      "type ActionEnd",
      "type ActionEndShape",
      "type ActionFileChangeShape",
      "type ActionPayload",
      "type ActionRequest",
      "type ActionShape",
      "type ActionsOf",
      "type AsideChangeShape",
      "type BlameKind",
      "type BlameLineShape",
      "type BlameOptions",
      "type BlameOriginShape",
      "type BlameShape",
      "type BlobContent",
      "type ChangeShape",
      "type ChangesOptions",
      "type ChangesShape",
      "type Classed",
      "type CommandEnd",
      "type CommandRunner",
      "type CommandSurroundings",
      "type CompactOptions",
      "type CompactShape",
      "type ConfigShape",
      "type ConflictResolution",
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
      "type EraseOptions",
      "type EraseShape",
      "type ErasedContentShape",
      "type ErasureShape",
      "type ErrorCode",
      "type ErrorDetails",
      "type EventsOptions",
      "type ExpectedHead",
      "type ExpectedHeadShape",
      "type ExplainShape",
      "type ExportOptions",
      "type ExportShape",
      "type FileApi",
      "type FileContent",
      "type FileListShape",
      "type FileShape",
      "type FileWriteShape",
      "type FilterPolicy",
      "type FilterSubject",
      "type FindOptions",
      "type FollowOptions",
      "type ForcedShape",
      "type ForgetOptions",
      "type GcShape",
      "type GitChangeShape",
      "type GitHeadShape",
      "type GitRepositoryShape",
      "type GrepMatchShape",
      "type GrepOptions",
      "type GrepShape",
      "type HeadChangeShape",
      "type HeadShape",
      "type HealedContentShape",
      "type HistoryOptions",
      "type HurtContentShape",
      "type ImportArchiveOptions",
      "type ImportArchiveShape",
      "type ImportOptions",
      "type InitOptions",
      "type InitShape",
      "type IterationShape",
      "type KeptBesideShape",
      "type LeftOutPathShape",
      "type LineCountShape",
      "type ListFilesOptions",
      "type LogEventShape",
      "type LogOptions",
      "type ManifestFileShape",
      "type ManifestShape",
      "type MarkChanges",
      "type MarkOptions",
      "type MarkShape",
      "type MarksShape",
      "type NotCommittedShape",
      "type NotHeldPathShape",
      "type NotRecordedShape",
      "type NotRolledBackShape",
      "type OmissionShape",
      "type OmittedChangeShape",
      "type OpenByIdOptions",
      "type OpenOptions",
      "type OperationShape",
      "type OriginIterationShape",
      "type PatchShape",
      "type PrivateBudgetShape",
      "type Progress",
      "type ProgressOptions",
      "type ProtectedShape",
      "type PruneOptions",
      "type PruneShape",
      "type PutFileOptions",
      "type ReadFileOptions",
      "type RebuildShape",
      "type RecentAction",
      "type RecentGit",
      "type RecentItem",
      "type RecentItemKind",
      "type RecentOptions",
      "type RecentPath",
      "type RecentShape",
      "type RecordEventShape",
      "type RecordImportShape",
      "type RecordPut",
      "type RecordShape",
      "type RecordStoreApi",
      "type RecordStoreOptions",
      "type RecordVerifyShape",
      "type RecorderShape",
      "type Recording",
      "type RecordingShape",
      "type RefusedPathShape",
      "type RepairFailureShape",
      "type RepairPlace",
      "type RepairShape",
      "type ReplicaDirection",
      "type ResolveOptions",
      "type ResolveShape",
      "type RestoreOptions",
      "type RestoreShape",
      "type RetentionShape",
      "type RetentionSourcesShape",
      "type RollbackOptions",
      "type RootStatusShape",
      "type RunOptions",
      "type RunShape",
      "type Selection",
      "type SessionShape",
      "type SessionStart",
      "type SigningReason",
      "type SigningShape",
      "type SkippedShape",
      "type SnapshotOptions",
      "type SnapshotShape",
      "type StandaloneRecordStoreApi",
      "type StatusShape",
      "type StoreApi",
      "type StoreOptions",
      "type SyncApi",
      "type SyncBridge",
      "type SyncBridgeOptions",
      "type SyncDecision",
      "type SyncEventShape",
      "type SyncMode",
      "type SyncProgressShape",
      "type SyncResolution",
      "type SyncResolvedShape",
      "type SyncRunner",
      "type SyncSettings",
      "type SyncShape",
      "type SyncStart",
      "type SyncState",
      "type SyncStatus",
      "type SyncTroubleShape",
      "type TextChangeShape",
      "type TextHistoryOptions",
      "type TextHistoryShape",
      "type TickActor",
      "type TickKindName",
      "type TickOutcomeName",
      "type TicksOptions",
      "type TicksShape",
      "type TransactionOptions",
      "type TransactionRollbackShape",
      "type TransactionShape",
      "type TurnShape",
      "type TurnStart",
      "type TurnStartShape",
      "type TurnsOptions",
      "type UndoHunkShape",
      "type UndoHunksShape",
      "type UndoOptions",
      "type UndoPart",
      "type UndoShape",
      "type UnsearchedShape",
      "type UnsignedShape",
      "type UnverifiedImportShape",
      "type VerifyOptions",
      "type VerifyProblemShape",
      "type VerifyShape",
      "type VersionRestoreShape",
      "type VersionShape",
      "type VersionsOptions",
      "type WatchOptions",
      "type WithheldShape",
      "type WorkspaceApi",
      "type WorkspaceShape",
      "type WriteBy",
      "type WriteCondition",
      "unforget",
      "verifySignedHead",
    ]
  `);
});

it("the exports of the suites for backends are pinned", () => {
  // Not imported here: the suites import vitest and are run by the backends' own tests.
  expect(exportsOf("src/testing/index.ts")).toMatchInlineSnapshot(`
    [
      "blobBlocksSuite",
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

it("the members of a workspace are pinned", async () => {
  const members = membersOf("src/api/workspace-api.ts", "WorkspaceApi");
  await using project = new Project();
  const workspace = await project.init();
  const named = members.filter((member) => !member.startsWith("[Symbol."));
  expect(named.filter((member) => !(nameOf(member) in workspace))).toEqual([]);
  expect(Symbol.asyncDispose in workspace).toBe(true);
  expect(members).toMatchInlineSnapshot(`
    [
      "readonly id: string",
      "readonly path: string",
      "readonly roots: readonly string[]",
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
      "recent(limit?: number, options?: RecentOptions): Promise<RecentShape>",
      "ticks(options?: TicksOptions): Promise<TicksShape>",
      "log(options?: LogOptions): Promise<LogEventShape[]>",
      "sessions(): Promise<SessionShape[]>",
      "session(id: string): Promise<SessionShape>",
      "find(name: string, options?: FindOptions): Promise<string[]>",
      "cat(path: string, iteration?: number): Promise<ContentStream>",
      "explain(path: string): Promise<ExplainShape>",
      "run(options: RunOptions): Promise<RunShape>",
      "offRecord<T>(work: () => Promise<T> | T): Promise<T>",
      "watch(options?: WatchOptions): Promise<Recording>",
      "follow(options?: FollowOptions): Promise<void>",
      "verify(options?: VerifyOptions): Promise<VerifyShape>",
      "rebuild(options?: ProgressOptions): Promise<RebuildShape>",
      "head(): Promise<HeadShape>",
      "signing(): Promise<SigningShape>",
      "recording(): Promise<RecordingShape>",
      "acceptHead(): Promise<AcceptedHeadShape>",
      "compact(options?: CompactOptions): Promise<CompactShape>",
      "gc(options?: ProgressOptions): Promise<GcShape>",
      "du(options?: { readonly by?: "session" | "path" | "age" }): Promise<DuShape>",
      "config(): Promise<ConfigShape>",
      "configure(change: Partial<ConfigShape>): Promise<ConfigShape>",
      "retention(): Promise<RetentionSourcesShape>",
      "refuse?(what: string, unlisted?: number): Promise<never>",
      "owners?(): Promise<readonly number[]>",
      "keepHead?(): Promise<void>",
      "as(who: ActingAs): WorkspaceApi",
      "close(): Promise<void>",
      "[Symbol.asyncDispose](): Promise<void>",
    ]
  `);
});

it("the members for actions, transactions, conflicts and pruning are pinned", async () => {
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
      "changes(selection: Selection, options?: ChangesOptions): Promise<ChangesShape>",
      "startSession(start?: SessionStart): Promise<SessionShape>",
      "endSession(id: string): Promise<SessionShape>",
      "startTurn(start: TurnStart): Promise<TurnStartShape>",
      "turns(options?: TurnsOptions): Promise<TurnShape[]>",
      "abandonActions(of: ActionsOf): Promise<string[]>",
      "beginTransaction(options?: TransactionOptions): Promise<TransactionShape>",
      "commitTransaction(id: string): Promise<TransactionShape>",
      "rollbackTransaction(id: string, options?: { readonly force?: boolean }): Promise<TransactionRollbackShape>",
      "transactions(): Promise<TransactionShape[]>",
      "transaction<T>(work: (transaction: TransactionShape) => Promise<T> | T, options?: TransactionOptions): Promise<T>",
      "conflicts(options?: ConflictsOptions): Promise<ConflictShape[]>",
      "resolve(conflict: string, options: ResolveOptions): Promise<ResolveShape>",
      "versions(options?: VersionsOptions): Promise<VersionShape[]>",
      "restoreVersion(id: string): Promise<VersionRestoreShape>",
      "prune(options?: PruneOptions): Promise<PruneShape>",
      "erase(options: EraseOptions): Promise<EraseShape>",
      "erasures(): Promise<ErasureShape[]>",
      "unerase(id: string): Promise<ErasureShape>",
      "pin(id: string, pinned?: boolean): Promise<void>",
    ]
  `);
});

it("the members of a record store are pinned", async () => {
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

it("the members of a store are pinned", async () => {
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
      "marks(id: string, options?: MarkOptions): Promise<MarksShape>",
      "mark(id: string, changes: MarkChanges, options?: MarkOptions): Promise<void>",
      "forget(id: string, options?: ForgetOptions): Promise<WorkspaceShape>",
      "gc(): Promise<GcShape>",
      "du(options?: { readonly kept?: boolean }): Promise<DuShape>",
      "doctor(): Promise<DoctorShape>",
      "close(): Promise<void>",
    ]
  `);
});
