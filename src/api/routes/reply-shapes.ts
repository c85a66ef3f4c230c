import type * as action from "../action-shapes.ts";
import type { ConflictShape } from "../conflict-shape.ts";
import type * as file from "../file-api.ts";
import type * as record from "../record-api.ts";
import type * as shapes from "../shapes.ts";
import type { DoctorShape, InitShape, MarksShape } from "../store-api.ts";
import type * as sync from "../sync-api.ts";
import type { RecentShape } from "../recent-api.ts";
import type { TicksShape } from "../tick-api.ts";
import type { VerifyStepShape } from "../workspace-api.ts";
import type { Role } from "./role.ts";

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** The value of `cursor` for the next page; `null`: this is the last page. */
  next: string | null;
}

/** The caller, as the server knows it. */
export interface MeShape {
  /** The version of Chronicle that the server runs. */
  version: string;
  role: Role;
  /** The name of the caller's token. Absent if the caller has no token, or a token without a name. */
  name?: string;
  /** Ids and names of the workspaces that the caller may see; `null`: all workspaces of the store. */
  workspaces: string[] | null;
  /** The id of the workspace of the folder in which the server was started; `null` if there is none. */
  default_workspace: string | null;
  /**
   * True if the server is still opening the folder in which it was started, or creating the history of this folder.
   * `default_workspace` is then `null`.
   */
  starting?: true;
}

/** A user's record that is not deleted. */
export interface LiveRecordShape {
  id: string;
  record: Record<string, unknown>;
}

/** One event of a user's record. */
export type UserRecordEventShape = Omit<record.RecordEventShape, "record"> & { record: Record<string, unknown> };

/** The number of records that were rewritten. */
export interface MigratedShape {
  records: number;
}

/** The hash and size of a content. */
export interface BlobShape {
  hash: string;
  size: number;
}

/** Ids of the actions that were abandoned. */
export interface AbandonedShape {
  actions: string[];
}

/**
 * The reply for an intact history. For a history that is not intact, the reply is a problem (`INTEGRITY_VIOLATION`).
 */
export interface IntegrityShape {
  ok: true;
}

/** A problem (RFC 9457), as `application/problem+json`. */
export interface ProblemShape {
  /** Always `about:blank`, which means that `title` is the title of the HTTP status. */
  type: string;
  title: string;
  status: number;
  /** A description of the problem for people. */
  detail: string;
  /** A stable code: `NOT_FOUND`, `PRECONDITION_FAILED` …, `INTERNAL`. */
  code: string;
  /** The next step for a person, if there is one. */
  hint?: string;
  /** The values that `detail` mentions, for programs. */
  data?: Record<string, unknown>;
}

/** All shapes of replies, by their names in the OpenAPI document. */
export interface ReplyShapes {
  AbandonedShape: AbandonedShape;
  ActionDiffShape: action.ActionDiffShape;
  ActionEndShape: action.ActionEndShape;
  ActionShape: action.ActionShape;
  BlameShape: file.BlameShape;
  BlobShape: BlobShape;
  ChangesShape: action.ChangesShape;
  CompactShape: shapes.CompactShape;
  ConfigShape: shapes.ConfigShape;
  ConflictShape: ConflictShape;
  DiffShape: shapes.DiffShape;
  DoctorShape: DoctorShape;
  DuShape: shapes.DuShape;
  ExplainShape: shapes.ExplainShape;
  FileListShape: file.FileListShape;
  FileShape: file.FileShape;
  FileWriteShape: file.FileWriteShape;
  EraseShape: action.EraseShape;
  ErasureShape: action.ErasureShape;
  /** A path that was recorded. */
  FoundPath: string;
  GcShape: shapes.GcShape;
  HeadChangeShape: shapes.HeadChangeShape;
  HeadShape: shapes.HeadShape;
  InitShape: InitShape;
  IntegrityShape: IntegrityShape;
  IterationShape: shapes.IterationShape;
  KnownReplicaShape: action.KnownReplicaShape;
  LiveRecordShape: LiveRecordShape;
  LogEventShape: shapes.LogEventShape;
  ManifestShape: shapes.ManifestShape;
  MarksShape: MarksShape;
  MeShape: MeShape;
  MigratedShape: MigratedShape;
  OperationShape: shapes.OperationShape;
  ProblemShape: ProblemShape;
  PruneShape: action.PruneShape;
  PruningShape: action.PruningShape;
  RebuildShape: shapes.RebuildShape;
  RecentShape: RecentShape;
  RecordImportShape: record.RecordImportShape;
  RecordShape: shapes.RecordShape;
  RefusalShape: action.RefusalShape;
  RecordVerifyShape: record.RecordVerifyShape;
  ResolveShape: action.ResolveShape;
  TurnShape: action.TurnShape;
  TurnStartShape: action.TurnStartShape;
  VersionShape: action.VersionShape;
  VersionRestoreShape: action.VersionRestoreShape;
  RestoreShape: shapes.RestoreShape;
  RetentionSourcesShape: action.RetentionSourcesShape;
  SessionShape: shapes.SessionShape;
  SnapshotShape: shapes.SnapshotShape;
  RecordingShape: shapes.RecordingShape;
  StatusShape: shapes.StatusShape;
  SigningShape: shapes.SigningShape;
  SyncEventShape: sync.SyncEventShape;
  SyncResolvedShape: sync.SyncResolvedShape;
  SyncShape: sync.SyncShape;
  TextHistoryShape: file.TextHistoryShape;
  TicksShape: TicksShape;
  GrepShape: file.GrepShape;
  TransactionRollbackShape: action.TransactionRollbackShape;
  TransactionShape: action.TransactionShape;
  UndoShape: shapes.UndoShape;
  UserRecordEventShape: UserRecordEventShape;
  VerifyShape: shapes.VerifyShape;
  VerifyStepShape: VerifyStepShape;
  WorkspaceShape: shapes.WorkspaceShape;
}
