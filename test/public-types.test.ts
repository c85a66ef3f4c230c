/** These tests pin the options and shapes that programs rely on. See `public-api.test.ts`. */
import { expect, it } from "vitest";
import { membersOf, source, typesOf } from "./helpers/public-surface.ts";

it("the options are pinned", () => {
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
  const asked = [
    "ActionRequest",
    "ActionPayload",
    "ActionEnd",
    "ActionsOf",
    "Selection",
    "RollbackOptions",
    "TransactionOptions",
  ];
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
      "ActionsOf": [
        "readonly session: string",
        "readonly turn?: string",
        "readonly reason?: string",
        "readonly except?: readonly string[]",
        "readonly unsure?: boolean",
      ],
      "DiffOptions": [
        "readonly paths?: readonly string[]",
        "readonly patch?: boolean",
      ],
      "InitOptions": [],
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
        "readonly upstream?: boolean",
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
        "readonly now?: boolean",
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
        "readonly descriptors?: readonly number[]",
        "readonly bytes?: { readonly command?: readonly Uint8Array[]; readonly env?: readonly Uint8Array[] }",
        "readonly rollbackOnFailure?: boolean",
        "readonly within?: string",
        "readonly networkEvents?: readonly unknown[] | (() => readonly unknown[])",
        "readonly notes?: readonly string[]",
        "readonly onStart?: () => void",
        "readonly onCapture?: (changes: number) => void",
        "readonly runner?: CommandRunner",
        "readonly ended?: CommandEnd & { readonly session: string }",
      ],
      "Selection": [
        "readonly action?: string",
        "readonly turn?: string",
        "readonly session?: string",
        "readonly actor?: string",
        "readonly file?: string",
        "readonly since?: string",
        "readonly to?: string",
        "readonly rewind?: string",
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
        "readonly acceptDeletions?: boolean",
        "readonly onRecord?: readonly string[]",
      ],
      "StoreOptions": [
        "readonly home: string",
        "readonly configFolder: string",
        "readonly userHome?: string",
        "readonly waitMs?: number",
        "readonly actor?: string",
        "readonly onNote?: (note: string) => void",
        "readonly onUnsigned?: (told: UnsignedShape) => void",
        "readonly onCommit?: (commit: { readonly events: number }) => void",
        "readonly retention?: Partial<RetentionShape>",
        "readonly retentionDefaults?: Partial<RetentionShape>",
        "readonly role?: "person" | "agent"",
      ],
      "TransactionOptions": [
        "readonly name?: string",
        "readonly actor?: string",
        "readonly session?: string",
        "readonly scope?: "folder" | "actions"",
        "readonly pid?: number | null",
        "readonly onOwnerDeath?: "rollback" | "keep"",
      ],
      "UndoOptions": [
        "readonly operation?: string",
        "readonly fromLine?: number",
        "readonly toLine?: number",
        "readonly dryRun?: boolean",
        "readonly force?: boolean",
        "readonly exact?: boolean",
      ],
      "VerifyOptions": [
        "readonly quick?: boolean",
        "readonly expect?: string",
        "readonly repairFrom?: readonly RepairPlace[]",
      ],
    }
  `);
});

it("the error codes are pinned", () => {
  const [, codes = ""] = /export type ErrorCode =([^;]*);/.exec(source("src/core/values/errors.ts")) ?? [];
  expect([...codes.matchAll(/"(\w+)"/g)].map(([, code = ""]) => code).toSorted()).toMatchInlineSnapshot(`
    [
      "AMBIGUOUS",
      "BLOB_CORRUPT",
      "BLOB_MISSING",
      "ERASED",
      "FORBIDDEN",
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
      "PRECONDITION_FAILED",
      "PRUNED",
      "RATE_LIMITED",
      "READ_ONLY",
      "REFUSED",
      "ROLLBACK_DETECTED",
      "UNAUTHENTICATED",
      "UNAVAILABLE",
      "UNSAFE",
      "USAGE",
    ]
  `);
});

it("the fields of shapes are pinned: fields may be added, none is renamed", () => {
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
      "AcceptedHeadShape": "accepted seq reason log head kept_as key",
      "ActionDiffShape": "from to timestamp changes",
      "ActionEndShape": "action changes ambiguous coverage",
      "ActionFileChangeShape": "path change_type before_hash after_hash size_bytes",
      "ActionShape": "id timestamp action_type action_summary files_backed_up outside previous_hash hash transaction_id state scope actor session turn tool_call recursion_depth seq from_seq ended changed pinned coverage reason? omitted_changes?",
      "AsideChangeShape": "path path_b64? change_type",
      "ChangeShape": "path path_b64? change_type kind before_hash after_hash before_size after_size size_delta before_permissions? after_permissions? patch? binary? too_large? no_room? protected? erased? pruned?",
      "ChangesShape": "selection actions changes ambiguous notes?",
      "CompactShape": "events_archived base seq archive dropped",
      "ConfigShape": "useGitignore excludePatterns excludeGlobs forceInclude maxEntries maxBytes maxFileSize keepAside recordPrompts protectedNames",
      "ConflictShape": "id cause? path path_b64? timestamp state settled? reason detail? undo_id current_hash undo_hash base_hash? current_size undo_size current_kind undo_kind current_permissions? undo_permissions? patch? binary? too_large? no_room? protected? erased?",
      "CoverageShape": "complete omitted unapplied?",
      "DiffShape": "from to from_seq to_seq changes coverage?",
      "DuGroupShape": "name count content_bytes",
      "DuShape": "blobs log_bytes index_bytes other_bytes total_bytes store groups?",
      "EraseShape": "dry_run event id until total bytes contents total_kept kept already kept_aside untracked elsewhere not_reached freed not_freed",
      "ErasedContentShape": "hash bytes paths total_paths now_in",
      "ErasureShape": "id event total kept_aside asked reason actor at until can_be_withdrawn",
      "ExpectedHeadShape": "seq ok signature",
      "ExplainShape": "path tracked recorded rule pattern? source? omitted?",
      "ForcedShape": "total_changes changes total_skipped skipped",
      "GcShape": "freed_blobs freed_bytes pending_blobs pending_bytes damaged?",
      "GitChangeShape": "path path_b64? head_before head_after refs also",
      "GitHeadShape": "branch? commit?",
      "HeadShape": "workspace seq hash log_root root note key",
      "HealedContentShape": "from",
      "HurtContentShape": "hash needed_by",
      "IterationShape": "iteration timestamp size hash deleted? kind permissions seq cause actor session? action? turn? transaction? operation? pruned_by? erased_by? upstream? replica? patch? binary? too_large? no_room? protected? erased? pruned?",
      "LogEventShape": "seq ts record_id op hash prev_hash recursion_depth record",
      "ManifestFileShape": "kind hash size mtime_ms permissions path_b64?",
      "ManifestShape": "number id timestamp parent root files",
      "NotCommittedShape": "reason hint",
      "NotRecordedShape": "reason hint",
      "NotRolledBackShape": "reason paths hint",
      "OmissionShape": "path reason detail?",
      "OmittedChangeShape": "path path_b64? change_type reason detail? kept lost recorded? ambiguous?",
      "OperationShape": "id kind summary started ended from_seq to_seq changed undone client?",
      "OriginIterationShape": "seq iteration timestamp? actor? session? turn? action?",
      "ProtectedShape": "files first",
      "PruneShape": "dry_run event floor_seq pruned_actions pruned_snapshots kept_actions kept_snapshots too_young freed_contents freed_bytes",
      "RebuildShape": "events entries seconds",
      "RecordEventShape": "seq ts op record_id record prev_hash hash recursion_depth",
      "RecordImportShape": "source events records rounded seqs head unverified?",
      "RecordShape": "seq changes coverage",
      "RecordVerifyShape": "ok events head problems notes",
      "RecorderShape": "kind actor since pid session? command? trouble? hint?",
      "RecordingShape": "state by reason hint",
      "RepairFailureShape": "place reason",
      "RepairShape": "healed missing set_aside failed",
      "ResolveShape": "conflict changes undo_id",
      "RestoreShape": "changes undo_id skipped conflicts dry_run finished seq? kept_aside? git? to? rollback_id? notes?",
      "RetentionShape": "max_snapshots max_age_days min_age_hours max_store_bytes",
      "RetentionSourcesShape": "sources",
      "RootStatusShape": "id path only? file_system? lacks?",
      "RunShape": "session changes git? ambiguous notes? newly_recorded? coverage not_recorded exit_code signal undo_id rolled_back not_rolled_back not_committed? skipped conflicts",
      "SessionShape": "session_id kind replica? actor started ended command tracked_paths exit_code signal snapshot_count merkle_roots network_events notes state from_seq to_seq changed omitted_changes?",
      "SigningShape": "state reason detail hint key since",
      "SkippedShape": "path reason detail?",
      "SnapshotShape": "number id seq root coverage timestamp cause name? pinned message? parent session? changed compacted_by? pruned_by?",
      "StatusShape": "workspace path roots root seq head changes coverage snapshots latest_snapshot entries bytes protected read_only signing recording notes",
      "TransactionRollbackShape": "transaction undo",
      "TransactionShape": "id status started_at finished_at? snapshots name? parent? actor session? scope? orphaned? run? changed?",
      "TurnShape": "turn short_id session actor started seq prompt prompt_state prompt_cut? transcript message actions changed paths undone",
      "TurnStartShape": "turn session seq prompt_kept",
      "UndoShape": "operation direction selection? pieces? notes unmerged",
      "UnverifiedImportShape": "checkpoint? tear?",
      "VerifyProblemShape": "kind where detail",
      "VerifyShape": "ok events blobs bytes problems notes anchored_to expected seconds repair?",
      "VersionRestoreShape": "version changes undo_id",
      "VersionShape": "id path path_b64? timestamp replica kind size permissions? hash actor session? turn? action? based_on lost_to is_present? merged_in?",
      "WorkspaceShape": "id name? path roots seq created last_event present archived? problem?",
    }
  `);
});
